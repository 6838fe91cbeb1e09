import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Argument, type Command } from 'commander';
import { codeOf } from '../protocol/thrown.ts';
import { CommandError, printResult, type World } from './world.ts';

const KINDS = ['game', 'bot'] as const;
type Kind = (typeof KINDS)[number];

const DEFAULT_FOLDER: Readonly<Record<Kind, string>> = { game: 'lanterns', bot: 'my-bot' };

/** Commands to run after the installation. */
const NEXT: Readonly<Record<Kind, readonly string[]>> = {
  game: ['npm test', 'npm start       # then open http://127.0.0.1:8080 in two windows'],
  bot: [
    'npm test',
    'npx guildhall dev            # in another terminal; it prints the token of a bot',
    'BOT_TOKEN=… npm start',
  ],
};

/** Files that may be in a folder before a project is made in it. */
const HARMLESS = new Set(['.git', '.gitignore', '.gitattributes', 'LICENSE', '.idea', '.vscode']);

interface InitFlags {
  readonly package?: string;
  readonly json?: true;
}

/** Adds `init`, which writes a small project that runs and has tests. */
export function addInitCommand(program: Command, world: World): void {
  program
    .command('init')
    .description('write a project to start from: a lobby game, or a bot, with tests')
    .addArgument(new Argument('<kind>', 'what to make').choices([...KINDS]))
    .argument('[folder]', 'where; made if it is missing, and must be empty')
    .option('--package <spec>', 'what npm installs as guildhall (default: this version)')
    .option('--json', 'as one JSON line')
    .action(async (kind: Kind, folder: string | undefined, flags: InitFlags) => {
      const target = resolve(world.cwd, folder ?? DEFAULT_FOLDER[kind]);
      const values = {
        name: packageName(basename(target)),
        package: flags.package ?? ownSpec(world.version),
      };
      const files = await writeProject(kind, target, values);
      const shown = relative(world.cwd, target) || '.';
      printResult(world, flags.json === true, { kind, folder: target, files, ...values }, [
        `Made a ${kind} in ${shown}: ${files.join(', ')}`,
        '',
        'Next:',
        ...(shown === '.' ? [] : [`  cd ${shown}`]),
        ...['npm install', ...NEXT[kind]].map((line) => `  ${line}`),
      ]);
    });
}

/** Writes the files of a template with its placeholders filled in. @returns their paths in the project. */
async function writeProject(
  kind: Kind,
  target: string,
  values: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  await refuseFilled(kind, target);
  const source = join(packageRoot(), 'templates', kind);
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(source, join(entry.parentPath, entry.name)))
    .toSorted();
  for (const file of files) {
    const text = await readFile(join(source, file), 'utf8');
    const filled = text.replaceAll(/\{\{(name|package)\}\}/g, (_, key: string) => values[key] ?? '');
    await mkdir(dirname(join(target, file)), { recursive: true });
    await writeFile(join(target, file), filled, { flag: 'wx' });
  }
  await writeFile(join(target, '.gitignore'), 'node_modules\ndata\n', { flag: 'a' });
  return files.map((file) => file.replaceAll(sep, '/'));
}

async function refuseFilled(kind: Kind, target: string): Promise<void> {
  const there = await readdir(target).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw new CommandError(
      `${target} is not a folder that can be written to (${codeOf(error)}).`,
      'Name another.',
    );
  });
  const filled = there.filter((name) => !HARMLESS.has(name));
  if (filled.length === 0) return;
  throw new CommandError(
    `${target} is not empty: it has ${filled.slice(0, 3).join(', ')}${filled.length > 3 ? ' and more' : ''}.`,
    `Name a folder that does not exist yet: guildhall init ${kind} ${DEFAULT_FOLDER[kind]}`,
  );
}

/** A name that npm accepts, from the name of a folder. */
const packageName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '') || 'guildhall-project';

/** The package that this file belongs to: above the sources, or above `dist`. */
function packageRoot(): string {
  const above = dirname(dirname(fileURLToPath(import.meta.url)));
  return basename(above) === 'dist' ? dirname(above) : above;
}

/** The version of the registry if it was installed from one; the clone if it runs in a clone. */
function ownSpec(version: string): string {
  const root = packageRoot();
  const isClone = existsSync(join(root, 'tsconfig.build.json'));
  return isClone ? `file:${root.replaceAll(sep, '/')}` : `^${version}`;
}
