import { Argument, type Command } from 'commander';
import { printResult, type World } from './world.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** How each shell is set up, once. */
const INSTALL: Readonly<Record<Shell, string>> = {
  bash: 'guildhall completion bash > ~/.local/share/bash-completion/completions/guildhall',
  zsh: 'guildhall completion zsh > /usr/local/share/zsh/site-functions/_guildhall',
  fish: 'guildhall completion fish > ~/.config/fish/completions/guildhall.fish',
};

/** Adds `completion`, which prints a script for a shell. It lists the commands of this version, so print it again after an upgrade. */
export function addCompletionCommand(program: Command, world: World): void {
  const help = SHELLS.map((shell) => `  ${INSTALL[shell]}`).join('\n');
  program
    .command('completion')
    .description('print a script that completes commands and flags in a shell')
    .addArgument(new Argument('<shell>').choices([...SHELLS]))
    .addHelpText('after', `\nInstall it with one of:\n${help}`)
    .option('--json', 'as one JSON line')
    .action((shell: Shell, { json }: { readonly json?: true }) => {
      const lines =
        shell === 'fish' ? fishScript(wordsBelow(program)) : bashScript(wordsBelow(program), shell);
      printResult(world, json === true, { shell, script: lines.join('\n') }, lines);
    });
}

interface Words {
  /** The commands that lead here, such as `app identity-provider`; empty for the program. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly { readonly name: string; readonly description: string }[];
}

/** The words that may follow each command, in the order of the tree. */
function wordsBelow(command: Command, path = ''): readonly Words[] {
  const commands = command.commands
    .map((child) => ({ name: child.name(), description: child.description() }))
    .toSorted((one, other) => one.name.localeCompare(other.name));
  const flags = command.options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ long, description }) => (long == null ? [] : [{ name: long, description }]));
  const own = { path, commands, flags: [...flags, { name: '--help', description: 'show help' }] };
  const below = command.commands.flatMap((child) => wordsBelow(child, `${path} ${child.name()}`.trim()));
  return [own, ...below];
}

function bashScript(all: readonly Words[], shell: 'bash' | 'zsh'): string[] {
  const steps = all.filter(({ path }) => path !== '').map(({ path }) => `      "${path}") path="${path}" ;;`);
  const choices = all.map(({ path, commands, flags }) => {
    const words = [...commands, ...flags].map(({ name }) => name).join(' ');
    return `    "${path}") words="${words}" ;;`;
  });
  const script = `_guildhall() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word="" words="" at=1
  while [ "$at" -lt "$COMP_CWORD" ]; do
    word="\${COMP_WORDS[$at]}"
    at=$((at + 1))
    case "\${path:+$path }$word" in
${steps.join('\n')}
    esac
  done
  case "$path" in
${choices.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _guildhall guildhall`;
  return [
    ...(shell === 'zsh' ? ['#compdef guildhall', 'autoload -U +X bashcompinit && bashcompinit'] : []),
    ...script.split('\n'),
  ];
}

/** Quotes a text for fish. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishScript(all: readonly Words[]): string[] {
  return all.flatMap(({ path, commands, flags }) => {
    const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
    const here = path === '' ? '__fish_use_subcommand' : seen.join('; and ');
    return [
      ...commands.map(
        ({ name, description }) =>
          `complete -c guildhall -f -n ${quoted(here)} -a ${quoted(name)} -d ${quoted(description)}`,
      ),
      ...flags.map(
        ({ name, description }) =>
          `complete -c guildhall -n ${quoted(here)} -l ${quoted(name.slice(2))} -d ${quoted(description)}`,
      ),
    ];
  });
}
