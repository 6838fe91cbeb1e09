// Goal: the diagrams of machines in the documentation have the states of the machines, so that a reader may rely on them.
import { describe, expect, test } from 'vitest';
import { callMachine } from '../../actors/call/call.machine.ts';
import { voiceSessionMachine } from '../../actors/call/voicesession.machine.ts';
import { shardMachine } from '../../actors/cluster/membership/shard.machine.ts';
import { guildMachine } from '../../actors/guild/guild.machine.ts';
import { sessionMachine } from '../../actors/session/session.machine.ts';
import { callMachine as sdkCallMachine } from '../../sdk/call/call.machine.ts';
import { statusMachine } from '../../sdk/status.machine.ts';
import { filesUnder, read } from '../support/source.ts';

/** What a diagram without a machine shows; the text before it says so. */
const NO_MACHINE = 'no machine';

interface Tree {
  readonly states?: Readonly<Record<string, Tree>> | undefined;
}

/** The diagrams of each page, in their order. */
const DIAGRAMS: Readonly<Record<string, readonly (Tree | typeof NO_MACHINE)[]>> = {
  'docs/accounts.md': [NO_MACHINE],
  'docs/actors.md': [guildMachine.config, callMachine.config],
  // States of a lobby in the database come first.
  'docs/architecture.md': [
    NO_MACHINE,
    guildMachine.config,
    sessionMachine.config,
    voiceSessionMachine.config,
  ],
  'docs/cluster.md': [shardMachine.config],
  'docs/sdk-calls.md': [sdkCallMachine.config],
  'docs/sdk.md': [statusMachine.config],
};

/** States that a page for users shows as another one. */
const NOT_SHOWN = new Set(['rejoining']);

const diagramsOf = (page: string): string[] =>
  [...page.matchAll(/```mermaid\nstateDiagram-v2\n([\s\S]*?)```/g)].map(([, body = '']) => body);

/** The states that a diagram names; statuses of the client library begin with a capital there. */
function namesIn(diagram: string): string[] {
  const ends = [...diagram.matchAll(/^\s*(\S+) --> ([^\s:]+)/gm)].flatMap(([, from, to]) => [from, to]);
  const groups = [...diagram.matchAll(/^\s*state (\w+) \{/gm)].map(([, name]) => name);
  const names = [...ends, ...groups].filter((name) => name !== undefined && name !== '[*]');
  return [...new Set(names.map((name) => `${name?.[0]?.toLowerCase()}${name?.slice(1)}`))].toSorted();
}

const statesOf = ({ states = {} }: Tree): string[] =>
  Object.entries(states).flatMap(([name, inner]) => [name, ...statesOf(inner)]);

const cases = Object.entries(DIAGRAMS).flatMap(([page, machines]) =>
  machines.flatMap((machine, at) => (machine === NO_MACHINE ? [] : [{ page, at, machine }])),
);

describe('the diagrams', () => {
  test.each(cases)(
    'name exactly the states of their machine in $page, number $at',
    ({ page, at, machine }) => {
      const states = statesOf(machine).filter((name) => !NOT_SHOWN.has(name));
      expect(namesIn(diagramsOf(read(page))[at] ?? '')).toEqual([...new Set(states)].toSorted());
    },
  );

  test('are all listed here', () => {
    const pages = filesUnder('docs', /\.md$/).map((page) => [page, diagramsOf(read(page)).length] as const);
    const listed = Object.entries(DIAGRAMS).map(([page, { length }]) => [page, length] as const);
    expect(pages.filter(([, count]) => count > 0)).toEqual(listed);
  });
});
