import client from './clients/gemini-cli.mjs';
import { onClient } from './harness/cases.mjs';

onClient(client);
