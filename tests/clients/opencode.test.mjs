import client from './clients/opencode.mjs';
import { onClient } from './harness/cases.mjs';

onClient(client);
