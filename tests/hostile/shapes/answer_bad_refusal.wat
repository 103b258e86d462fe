;; returns a refusal that does not exist
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    i32.const 4096)
  (func (export "keyhole:context/loader@0.2.0#load") (param i32 i32) (result i32)
    ;; no such refusal
    (i32.store (i32.const 0) (i32.const 1))
    (i32.store (i32.const 4) (i32.const 200))
    (i32.store (i32.const 8) (i32.const 0))
    i32.const 0)
  (func (export "keyhole:context/loader@0.2.0#next") (result i32)
    unreachable)
)
