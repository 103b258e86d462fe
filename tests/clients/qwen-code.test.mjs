import client from './clients/qwen-code.mjs';
import { onClient } from './harness/cases.mjs';

onClient(client);
