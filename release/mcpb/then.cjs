// For `node --require`: sets the clock to SOURCE_DATE_EPOCH. The tool that packs the
// bundle writes the time into it, and the same files must give the same bytes.
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
