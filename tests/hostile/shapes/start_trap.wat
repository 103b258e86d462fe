;; stops with a trap before it is called
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    i32.const 4096)
  (func $start unreachable)
  (start $start)
  (func (export "keyhole:context/loader@0.2.0#load") (param i32 i32) (result i32)
    unreachable)
  (func (export "keyhole:context/loader@0.2.0#next") (result i32)
    unreachable)
)
