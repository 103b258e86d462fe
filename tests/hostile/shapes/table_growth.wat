;; grows its table until it is refused
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    i32.const 4096)
  (table $table 1 funcref)
  (func (export "keyhole:context/loader@0.2.0#load") (param i32 i32) (result i32)
    (loop $again
      (br_if $again
        (i32.ne (table.grow $table (ref.null func) (i32.const 100)) (i32.const -1))))
    unreachable)
  (func (export "keyhole:context/loader@0.2.0#next") (result i32)
    unreachable)
)
