;; returns a part that is not UTF-8, and then says that the file has changed
(module
  (memory (export "memory") 1)
  (data (i32.const 64) "\ff")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    i32.const 4096)
  (func (export "keyhole:context/loader@0.2.0#load") (param i32 i32) (result i32)
    ;; ok, a part and more to come
    (i32.store (i32.const 0) (i32.const 0))
    (i32.store (i32.const 4) (i32.const 0))
    (i32.store (i32.const 8) (i32.const 64))
    (i32.store (i32.const 12) (i32.const 1))
    i32.const 0)
  (func (export "keyhole:context/loader@0.2.0#next") (result i32)
    ;; the refusal `changed`
    (i32.store (i32.const 0) (i32.const 1))
    (i32.store (i32.const 4) (i32.const 8))
    i32.const 0)
)
