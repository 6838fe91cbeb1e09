import type { Command } from 'commander';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import { CommandError, type World } from './world.ts';

/** Adds to `app` the command for activities. */
export function addApplicationActivityCommand(app: Command, world: World): void {
  remote(
    app,
    'activity <application>',
    world,
    'set where the activity of an application is served from',
    configureActivity,
  )
    .option(
      '--map <prefix=target...>',
      'as /=example.com and /api=api.example.com/v1; those it had are replaced',
    )
    .option('--off', 'the application has no activity');
}

async function configureActivity(ask: Remote, [id]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const given: readonly unknown[] = Array.isArray(flags.map) ? flags.map : [];
  if (given.length === 0 && flags.off !== true)
    throw new CommandError('Neither a mapping nor --off is given.', 'Give --map /=host, or --off.');
  const mappings = flags.off === true ? [] : given.map((each) => mappingOf(String(each)));
  const value = await ask('POST', `/applications/${id}/activity`, { url_mappings: mappings });
  const lines = mappings.map(({ prefix, target }) => `  ${prefix}  ${target}`);
  return {
    value,
    lines: [
      mappings.length === 0
        ? `Application ${id} has no activity.`
        : `The activity of application ${id} is served from:`,
      ...lines,
      'Next: docs/activities.md says how people open it.',
    ],
  };
}

function mappingOf(text: string): { readonly prefix: string; readonly target: string } {
  const at = text.indexOf('=');
  if (at < 1) throw new CommandError(`${text} is no mapping.`, 'Write it as /prefix=host/path.');
  return { prefix: text.slice(0, at), target: text.slice(at + 1) };
}
