// For clients that show a part of what is too long for them: the map says the most that
// is served, so that a longer document is refused instead.

import fs from 'node:fs';
import path from 'node:path';

/** Writes `max_bytes` into the map of `home`, above its tables, as a user does. */
export function refuseLonger(home, bytes) {
  const map = path.join(home.configured, 'context-map.toml');
  const [schema, ...rest] = fs.readFileSync(map, 'utf8').split('\n');
  fs.writeFileSync(map, [schema, `max_bytes = ${bytes}`, ...rest].join('\n'));
}
