import type { Command } from 'commander';
import { printResult, type World } from './world.ts';

/** Where `guildhall dev` serves the interface. */
const DEV_URL = 'http://127.0.0.1:3000';

interface DescribeFlags {
  readonly url: string;
  readonly json?: true;
}

/** Adds `openapi` and `asyncapi`. The declarations are imported on demand, because other commands do not use them. */
export function addDescribeCommands(program: Command, world: World): void {
  const add = (name: string, description: string, describe: (url: string) => Promise<object>) =>
    program
      .command(name)
      .description(description)
      .option('--url <url>', 'base URL of the server', DEV_URL)
      .option('--json', 'on one line')
      .action(async ({ url, json }: DescribeFlags) => {
        const document = await describe(url.replace(/\/+$/, ''));
        printResult(world, json === true, document, JSON.stringify(document, null, 2).split('\n'));
      });
  add('openapi', 'the HTTP API as an OpenAPI 3.1 document', async (url) => {
    const { openApi } = await import('../transports/rest/openapi.ts');
    return openApi(world.version, `${url}/api/v10`);
  });
  add('asyncapi', 'the gateway and the voice gateway as an AsyncAPI 3 document', async (url) => {
    const { asyncApi } = await import('../transports/description/asyncapi.ts');
    return asyncApi(world.version, url.replace(/^http/, 'ws'));
  });
}
