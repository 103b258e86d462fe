import client from './clients/copilot.mjs';
import { onClient } from './harness/cases.mjs';

onClient(client);
