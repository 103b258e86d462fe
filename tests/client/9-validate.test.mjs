// The client's own check of the package. It overlooks much (a missing script, an
// unknown variable, a wrong tool name); the Rust tests of the package find these.

import { onEachClient } from './harness/case.mjs';
import { DIST } from './harness/home.mjs';
import { PACKAGED } from './harness/plugin.mjs';

onEachClient('9: plugin validate --strict passes on the marketplace and on the plugin', { plugin: 'none' }, async ({ home }) => {
  await home.must('plugin', 'validate', '--strict', DIST);
  await home.must('plugin', 'validate', '--strict', PACKAGED);
});
