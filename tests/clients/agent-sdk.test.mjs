import client from './clients/agent-sdk.mjs';
import { onClient } from './harness/cases.mjs';

onClient(client);
