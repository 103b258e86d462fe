// For `node --require`: it is SOURCE_DATE_EPOCH for whatever runs. What packs the
// bundle writes the time into it, and the same files are to give the same bytes.
"use strict"
const then = Number(process.env.SOURCE_DATE_EPOCH) * 1000
if (!Number.isFinite(then)) throw new Error("SOURCE_DATE_EPOCH is not set")
globalThis.Date = class extends Date {
  constructor(...given) {
    super(...(given.length === 0 ? [then] : given))
  }
  static now() {
    return then
  }
}
