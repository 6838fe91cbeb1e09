import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { type ChaosScenario, chaosScenario } from '../protocol/chaos.ts';
import { messageOf } from '../protocol/thrown.ts';
import { CommandError, type World } from './world.ts';

const ADVICE = 'docs/failure-injection.md shows all rules.';

/** Reads a file of failures to inject. @throws CommandError when it cannot be read or is invalid. */
export async function readScenario({ cwd }: Pick<World, 'cwd'>, file: string): Promise<ChaosScenario> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    throw new CommandError(`${file} cannot be read: ${messageOf(error)}.`, 'Name a YAML file with --chaos.');
  });
  try {
    return chaosScenario(parse(text) ?? {});
  } catch (error) {
    throw new CommandError(`${file}: ${messageOf(error)}`, ADVICE);
  }
}
