import { Argument, type Command } from 'commander';
import { RECIPES } from './connect.ts';
import { CommandError, printResult, type World } from './world.ts';

interface ConnectFlags {
  readonly url: string;
  readonly token: string;
  readonly json?: true;
}

/** Adds `connect`, which prints the lines that connect an unmodified bot of one library. */
export function addConnectCommand(program: Command, world: World): void {
  program
    .command('connect')
    .description('print the lines that connect a bot of one library')
    .addArgument(new Argument('<library>', 'the library').choices(Object.keys(RECIPES)))
    .option('--url <url>', 'the server', 'http://127.0.0.1:3000')
    .option('--token <token>', 'token of the bot', '<bot token>')
    .option('--json', 'as one JSON line')
    .action((library: string, flags: ConnectFlags) => {
      const base = flags.url.replace(/\/+$/, '').replace(/\/api(\/v\d+)?$/, '');
      if (!URL.canParse(base) || !/^https?:/.test(base)) {
        throw new CommandError(
          `${flags.url} is not a URL.`,
          'Write --url http://127.0.0.1:3000, without a path.',
        );
      }
      if (/['\\`\n]/.test(flags.token + base)) {
        throw new CommandError(
          'The token or URL contains a quote or backslash.',
          'Paste it as it was printed.',
        );
      }
      const recipe = RECIPES[library]!;
      const lines = recipe.lines({ api: `${base}/api`, cdn: base, token: flags.token });
      const install = `npm install ${recipe.packages.join(' ')}`;
      const command = `${recipe.environment === undefined ? '' : `${recipe.environment} `}node bot.mjs`;
      const value = { library, install, file: 'bot.mjs', command, source: `${lines.join('\n')}\n` };
      printResult(world, flags.json === true, value, [
        `// 1. ${install}`,
        `// 2. Save this as bot.mjs; 3. ${command}; 4. write ${recipe.trigger ?? '!ping'} in a channel.`,
        ...lines,
      ]);
    });
}
