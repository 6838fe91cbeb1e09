import type { Command } from 'commander';
import { stringify } from 'yaml';
import { configSchema, shownConfig } from '../config/config.ts';
import { collect } from './flags.ts';
import { settingsPage } from './settings.page.ts';
import { readSettings } from './settings.ts';
import { printResult, type World } from './world.ts';

interface PrintFlags {
  readonly config?: string;
  readonly set: readonly string[];
  readonly json?: true;
}

/** Adds `config print`, `config schema` and `config page`. */
export function addConfigCommands(program: Command, world: World): void {
  const config = program.command('config').description('look at the settings');
  config
    .command('print')
    .description('the settings in force: defaults, file, environment and flags; secrets are masked')
    .option('--config <file>', 'settings file')
    .option('--set <key=value>', 'any setting; may be given many times', collect, [])
    .option('--json', 'as JSON')
    .action(async (flags: PrintFlags) => {
      const settings = await readSettings(world, { file: flags.config ?? null, flags: [], set: flags.set });
      const shown = shownConfig(settings);
      const lines = [
        ...stringify(shown).trimEnd().split('\n'),
        '',
        '# Next: docs/configuration.md says what each does.',
      ];
      printResult(world, flags.json === true, shown, lines);
    });
  config
    .command('schema')
    .description('the JSON Schema of the settings file, for editors')
    .option('--json', 'on one line')
    .action((flags: { json?: true }) => {
      const schema = configSchema();
      printResult(world, flags.json === true, schema, JSON.stringify(schema, null, 2).split('\n'));
    });
  config
    .command('page')
    .description('the page docs/configuration.md')
    .option('--json', 'as one JSON text')
    .action((flags: { json?: true }) => {
      const page = settingsPage();
      printResult(world, flags.json === true, page, page.trimEnd().split('\n'));
    });
}
