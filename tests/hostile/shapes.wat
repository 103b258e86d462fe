;; Components that break the rules by which components talk to their host, written by hand,
;; because no compiler makes them. Each block is one of them, as core modules are written.
;; The first line of each block is `name: what it does => result`. The result is a code, or
;; `not loaded` if the component asks for more than a call may have, or `not compiled` if it
;; uses what the engine does not allow. build.rs adds what a block does not define: one page
;; of memory, an allocator that returns 4096, and `load`, which returns the answer at 0. An
;; answer is a byte, 0 for a text, and at 4 its address and length, or else its refusal.

;; answer_askew: returns the address of an answer that cannot stand there => `internal`
(func $load (param i32 i32) (result i32) i32.const 1)

;; answer_bad_case: returns a result that is neither a text nor a refusal => `internal`
(data (i32.const 0) "\07")

;; answer_bad_refusal: returns a refusal that does not exist => `internal`
(data (i32.const 0) "\01\00\00\00\c8")

;; answer_beyond_memory: returns a text that begins in its memory and ends beyond => `internal`
(data (i32.const 0) "\00\00\00\00\fa\ff\00\00\64\00\00\00")

;; answer_not_utf8: returns a text that is not UTF-8 => `not-utf8`
(data (i32.const 0) "\00\00\00\00\10\00\00\00\04\00\00\00\00\00\00\00\ff\ff\ff\ff")

;; answer_nowhere: returns the address of an answer that its memory does not hold => `internal`
(func $load (param i32 i32) (result i32) i32.const -4)

;; answer_of_all_memory: returns a text of 4 GiB - 1 => `internal`
(data (i32.const 0) "\00\00\00\00\01\00\00\00\ff\ff\ff\ff")

;; answer_of_gigabytes: returns a text of 2 GiB - 1, which its memory does not hold => `internal`
(data (i32.const 0) "\00\00\00\00\00\00\00\00\ff\ff\ff\7f")

;; answer_over_limit: returns all of its memory, 64 times what may be returned => `internal`
(data (i32.const 0) "\00\00\00\00\00\00\00\00\00\00\01\00")

;; atomics: wakes up threads that wait for a place in its memory => not compiled
(func $load (param i32 i32) (result i32) (memory.atomic.notify (i32.const 0) (i32.const 1)))

;; call_of_a_subtype: calls a function of a type below the one that it names, which would abort the process => not compiled
(type $above (sub (func (result i32))))
(type $below (sub $above (func (result i32))))
(table 1 funcref)
(elem (i32.const 0) func $inner)
(func $inner (type $below) i32.const -4)
(func $load (param i32 i32) (result i32) (call_indirect (type $above) (i32.const 0)))

;; endless_recursion: calls itself for ever => `internal`
(func $load (param i32 i32) (result i32)
  (i32.add (call $load (local.get 0) (local.get 1)) (i32.const 1)))

;; memory_at_start: is made with a memory of 4 GiB => not loaded
(memory (export "memory") 65536)

;; memory_of_other_calls: looks through 16 MiB of fresh memory for what other calls left, and fills it => `not-found`
(func $load (param i32 i32) (result i32)
  (local $at i32)
  (local $end i32)
  (drop (memory.grow (i32.const 256)))
  (local.set $end (i32.mul (memory.size) (i32.const 65536)))
  ;; The key of this call is before that.
  (local.set $at (i32.const 8192))
  (loop $next
    ;; Something is left: a trap, and `internal`.
    (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then unreachable))
    (local.set $at (i32.add (local.get $at) (i32.const 8)))
    (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
  (memory.fill
    (i32.const 8192)
    (i32.const 0xaa)
    (i32.sub (local.get $end) (i32.const 8192)))
  ;; Nothing is: the refusal `not-found`.
  (i32.store8 (i32.const 0) (i32.const 1))
  (i32.store8 (i32.const 4) (i32.const 3))
  i32.const 0)

;; post_return_loop: returns the empty text, and computes for ever afterwards => `timed-out`
(func (export "cabi_post_keyhole:context/loader@0.4.0#load") (param i32)
  (loop $again (br $again)))

;; post_return_trap: returns the empty text, and stops with a trap afterwards => `internal`
(func (export "cabi_post_keyhole:context/loader@0.4.0#load") (param i32) unreachable)

;; realloc_loop: computes for ever when the host hands it the key => `timed-out`
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
  (loop $again (br $again))
  unreachable)

;; realloc_outside: puts the key beyond its memory => `internal`
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const -16)

;; start_loop: computes for ever before it is called => `timed-out`
(func $start (loop $again (br $again)))
(start $start)

;; start_trap: stops with a trap before it is called => `internal`
(func $start unreachable)
(start $start)

;; table_at_start: is made with a table of 1,025 elements => not loaded
(table 1025 funcref)

;; table_growth: grows its table until it is refused => `internal`
(table $table 1 funcref)
(func $load (param i32 i32) (result i32)
  (loop $again
    (br_if $again
      (i32.ne (table.grow $table (ref.null func) (i32.const 100)) (i32.const -1))))
  i32.const 0)

;; tables_at_start: is made with nine tables => not loaded
(table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref)

;; trap: stops with a trap => `internal`
(func $load (param i32 i32) (result i32) unreachable)
