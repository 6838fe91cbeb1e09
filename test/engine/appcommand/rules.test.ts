/** Goal: creating, changing, overwriting and deleting application commands keeps their identities and their bounds. */
import { describe, expect, it } from 'vitest';
import type { AppCommand, AppCommandFact } from '../../../engine/appcommand/appcommand.ts';
import {
  type CommandScope,
  deleteCommand,
  editCommand,
  overwriteCommands,
  writeCommand,
} from '../../../engine/appcommand/rules.ts';
import type { ApplicationId, GuildId } from '../../../protocol/ids.ts';
import { leavesOf } from '../../support/errortree.ts';
import { id } from '../../support/guild.ts';

const DAY_MS = 86_400_000;
const applicationId = id<ApplicationId>(900);
const guildId = id<GuildId>(1);
const slash = (name: string, more: object = {}) => ({ name, description: 'What it does', ...more });
const menu = (type: number, name: string) => ({ type, name });
const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, at) => make(at));

/** A scope that applies the facts of the rules. */
function scopeOf(own: Partial<CommandScope> = {}) {
  let scope: CommandScope = {
    ...{ applicationId, guildId: null, commands: [], creates: null, installations: [0] },
    ...own,
  };
  let lastId = 1_000;
  const env = { nowMs: 5_000, nextId: () => id<never>(++lastId) };
  const facts: AppCommandFact[] = [];
  const keep = (more: readonly AppCommandFact[]): void => {
    facts.push(...more);
    for (const fact of more) {
      const without = (commandId: string) => scope.commands.filter((command) => command.id !== commandId);
      if (fact.type === 'appCommandWritten')
        scope = { ...scope, commands: [...without(fact.command.id), fact.command] };
      if (fact.type === 'appCommandDeleted') scope = { ...scope, commands: without(fact.commandId) };
      if (fact.type === 'appCommandCreatesCounted') scope = { ...scope, creates: fact.creates };
    }
  };
  const run = <Value>(
    outcome: { ok: true; value: Value; facts: readonly AppCommandFact[] } | { ok: false; refusal: object },
  ) => {
    if (outcome.ok) keep(outcome.facts);
    return outcome;
  };
  const write = (body: object) => run(writeCommand(scope, body, env));
  const written = (body: object): AppCommand => {
    const outcome = write(body);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome));
    return outcome.value.command;
  };
  return {
    ...{ env, facts, write, written },
    commands: () => scope.commands,
    edit: (commandId: string, body: object) => run(editCommand(scope, id(commandId), body, env)),
    remove: (commandId: string) => run(deleteCommand(scope, id(commandId))),
    overwrite: (body: unknown) => run(overwriteCommands(scope, body, env)),
  };
}

const refusedWith = (code: number) => ({ ok: false, refusal: { code } });

describe('creating a command', () => {
  it('reports whether the command is new or replaces one of the same name and type', () => {
    const scope = scopeOf();
    const first = scope.write(slash('tide'));
    const second = scope.write(slash('tide', { description: 'Changed' }));
    expect(first).toMatchObject({ ok: true, value: { created: true } });
    expect(second).toMatchObject({
      ok: true,
      value: { created: false, command: { description: 'Changed' } },
    });
    expect(scope.commands()).toHaveLength(1);
    expect(first.ok && second.ok && first.value.command.id === second.value.command.id).toBe(true);
  });

  it('keeps commands of one name and different types apart', () => {
    const scope = scopeOf();
    for (const type of [2, 3, 4]) scope.written(menu(type, 'tide'));
    scope.written(slash('tide'));
    expect(scope.commands()).toHaveLength(4);
  });

  it('changes the version only with the content', () => {
    const scope = scopeOf();
    const options = [{ type: 3, name: 'port', description: 'Where' }];
    const before = scope.written(slash('tide', { options }));
    scope.facts.length = 0;
    expect(scope.written(slash('tide', { options })).version).toBe(before.version);
    expect(scope.facts).toEqual([]);
    expect(scope.written(slash('tide')).version).not.toBe(before.version);
  });

  it.each([
    [1, 100, (at: number) => slash(`c${at}`)],
    [2, 15, (at: number) => menu(2, `c${at}`)],
    [3, 15, (at: number) => menu(3, `c${at}`)],
    [4, 1, (at: number) => menu(4, `c${at}`)],
  ])('accepts type %i up to %i times in a scope', (_, max, make) => {
    const scope = scopeOf();
    for (let at = 0; at < max; at++) expect(scope.write(make(at)).ok).toBe(true);
    expect(scope.write(make(max))).toMatchObject(refusedWith(30032));
    expect(scope.write(make(0)).ok).toBe(true);
  });

  it('is rejected after 200 creations in a day, and accepted again a day later', () => {
    const scope = scopeOf({ guildId });
    for (let at = 0; at < 200; at++) scope.remove(scope.written(slash('tide')).id);
    expect(scope.write(slash('tide'))).toMatchObject(refusedWith(30034));
    scope.env.nowMs += DAY_MS - 1;
    expect(scope.write(slash('tide'))).toMatchObject(refusedWith(30034));
    scope.env.nowMs += 1;
    expect(scope.write(slash('tide')).ok).toBe(true);
  });
});

describe('changing a command', () => {
  it('keeps every field that the request does not name', () => {
    const scope = scopeOf();
    const options = [{ type: 4, name: 'hours', description: 'How many', max_value: 9 }];
    const before = scope.written(slash('tide', { options, contexts: [0], nsfw: true }));
    const after = scope.edit(before.id, { description: 'Changed' });
    expect(after).toMatchObject({
      ok: true,
      value: { ...before, description: 'Changed', version: id(1003) },
    });
  });

  it('keeps the type, and resets a field to its default with null', () => {
    const scope = scopeOf();
    const before = scope.written(slash('tide', { default_member_permissions: '8', contexts: [0] }));
    const after = scope.edit(before.id, { type: 2, default_member_permissions: null, contexts: null });
    expect(after).toMatchObject({
      ok: true,
      value: { type: 1, default_member_permissions: null, contexts: null },
    });
  });

  it('replaces contexts by dm_permission', () => {
    const scope = scopeOf();
    const before = scope.written(slash('tide', { contexts: [0, 1, 2] }));
    expect(scope.edit(before.id, { dm_permission: false })).toMatchObject({ value: { contexts: [0] } });
  });

  it('rejects the name of another command of its type', () => {
    const scope = scopeOf();
    scope.written(slash('tide'));
    scope.written(menu(2, 'moon'));
    const other = scope.written(slash('wind'));
    expect(scope.edit(other.id, { name: 'tide' })).toMatchObject(refusedWith(40041));
    expect(scope.edit(other.id, { name: 'moon' }).ok).toBe(true);
  });

  it('deletes permission overwrites only when the command is renamed', () => {
    const scope = scopeOf();
    const { id: commandId } = scope.written(slash('tide'));
    const types = () => scope.facts.splice(0).map(({ type }) => type);
    types();
    scope.edit(commandId, { description: 'Changed' });
    expect(types()).toEqual(['appCommandWritten']);
    scope.edit(commandId, { name: 'wind' });
    expect(types()).toEqual(['appCommandWritten', 'appCommandPermissionsEnded']);
  });

  it('is rejected with 10063 for an unknown command, and so is its deletion', () => {
    const scope = scopeOf();
    expect(scope.edit('7', { name: 'a' })).toMatchObject(refusedWith(10063));
    expect(scope.remove('7')).toMatchObject(refusedWith(10063));
  });
});

describe('overwriting all commands', () => {
  it('keeps commands by their name, creates new commands and deletes the others', () => {
    const scope = scopeOf();
    const [tide, wind] = [scope.written(slash('tide')), scope.written(slash('wind'))];
    const outcome = scope.overwrite([slash('moon'), slash('tide')]);
    expect(outcome).toMatchObject({ ok: true, value: [{ name: 'moon' }, { id: tide.id, name: 'tide' }] });
    expect(scope.commands().map(({ name }) => name)).toEqual(['tide', 'moon']);
    expect(scope.facts).toContainEqual({ type: 'appCommandDeleted', applicationId, commandId: wind.id });
  });

  it('renames a command by its id, even when two commands swap their names', () => {
    const scope = scopeOf();
    const [tide, wind] = [scope.written(slash('tide')), scope.written(slash('wind'))];
    scope.overwrite([slash('wind', { id: tide.id }), slash('tide', { id: wind.id })]);
    const names = Object.fromEntries(scope.commands().map((command) => [command.id, command.name]));
    expect(names).toEqual({ [tide.id]: 'wind', [wind.id]: 'tide' });
  });

  it('changes nothing when it repeats what is stored', () => {
    const scope = scopeOf();
    scope.overwrite([slash('tide'), menu(3, 'Quote')]);
    scope.facts.length = 0;
    scope.overwrite([slash('tide'), menu(3, 'Quote')]);
    expect(scope.facts).toEqual([]);
  });

  it('deletes everything for an empty list and for null', () => {
    for (const nothing of [[], null]) {
      const scope = scopeOf();
      scope.written(slash('tide'));
      expect(scope.overwrite(nothing)).toMatchObject({ ok: true, value: [] });
      expect(scope.commands()).toEqual([]);
    }
  });

  it('reports the path of each error', () => {
    const outcome = scopeOf().overwrite([slash('tide'), slash('tide'), slash('Bad'), 5]);
    const { errors } = (outcome as { refusal: { errors: never } }).refusal;
    expect(leavesOf(errors)).toEqual([
      '1: APPLICATION_COMMANDS_DUPLICATE_NAME',
      '2.name: APPLICATION_COMMAND_INVALID_NAME',
      '3: MODEL_TYPE_CONVERT',
    ]);
  });

  it('accepts the maximum of each type in a list of up to 130 commands', () => {
    const all = [
      ...many(100, (at) => slash(`c${at}`)),
      ...many(15, (at) => menu(2, `c${at}`)),
      ...many(15, (at) => menu(3, `c${at}`)),
    ];
    expect(scopeOf({ guildId }).overwrite(all).ok).toBe(true);
    expect(scopeOf().overwrite([...all, menu(4, 'Launch')])).toMatchObject({
      refusal: { code: 50035, errors: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } },
    });
    expect(scopeOf().overwrite(many(101, (at) => slash(`c${at}`)))).toMatchObject(refusedWith(30032));
  });

  it('counts new commands towards the daily limit of creations', () => {
    const scope = scopeOf();
    const list = (prefix: string) => many(100, (at) => slash(`${prefix}${at}`));
    expect(scope.overwrite(list('a')).ok).toBe(true);
    expect(scope.overwrite(list('b')).ok).toBe(true);
    expect(scope.overwrite(list('b')).ok).toBe(true);
    expect(scope.overwrite([slash('c')])).toMatchObject(refusedWith(30034));
  });
});
