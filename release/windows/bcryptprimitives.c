/* Stands in for bcryptprimitives.dll under wine 8, which has none: Rust's standard
 * library asks it for random bytes. For tests only; nothing of it is shipped. */
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    return SystemFunction036(buffer, (ULONG)length);
}
