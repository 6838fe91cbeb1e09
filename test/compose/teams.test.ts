// Goal: the operator makes teams, and what a member may do with an application of the team follows the member's role.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Engine, NewApplication } from '../../embedding.ts';
import type { TeamId, UserId } from '../../protocol/ids.ts';
import { validateResponse } from '../support/openapi.ts';

let engine: Engine;
let made: NewApplication;
const people: Record<string, UserId> = {};
let teamId: TeamId;
beforeAll(async () => {
  engine = await createEngine({ config: { listen_port: 0, voice: false, log_level: 'silent' } });
  for (const username of ['owner', 'admin', 'developer', 'reader', 'invited', 'stranger'])
    people[username] = (await engine.admin.createUser({ username: `team.${username}` })).user.id as UserId;
  const team = await engine.admin.createTeam({ name: 'Crew', ownerId: people.owner! });
  teamId = team.id;
  made = await engine.admin.createApplication({ name: 'Ship', ownerId: people.stranger! });
  for (const [name, role, isInvited] of [
    ['admin', 'admin', false],
    ['developer', 'developer', false],
    ['reader', 'read_only', false],
    ['invited', 'admin', true],
  ] as const)
    await engine.admin.changeTeam(teamId, { kind: 'setMember', userId: people[name]!, role, isInvited });
  await engine.admin.changeTeam(teamId, { kind: 'adopt', applicationId: made.application.id });
}, 60_000);
afterAll(() => engine?.close());

const params = () => ({ application_id: made.application.id });
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: { refusal?: { code: number } }) => error.refusal?.code ?? String(error),
  );
const ROLES = ['owner', 'admin', 'developer', 'reader', 'invited', 'stranger'] as const;
const NO = 20_012;

describe('an application of a team', () => {
  test.each([
    ['get_application', {}, ['ok', 'ok', 'ok', 'ok', NO, NO]],
    ['update_application', { description: 'It floats.' }, ['ok', 'ok', 'ok', NO, NO, NO]],
  ] as const)('answers %s only for roles that permit it', async (operation, body, expected) => {
    const codes = [];
    for (const role of ROLES)
      codes.push(await codeOf(engine.api[operation]({ params: params(), body }, { as: people[role]! })));
    expect(codes).toEqual(expected);
  });

  test('shows its team, and the user that represents the team as its owner', async () => {
    const body = await engine.api.get_my_application({}, { as: made.bot.id });
    expect(validateResponse('get_my_application', 200, body)).toEqual([]);
    expect(body.owner).toMatchObject({ id: teamId, username: `team${teamId}`, public_flags: 1024 });
    const { team } = body;
    expect(team).toMatchObject({ id: teamId, name: 'Crew', owner_user_id: people.owner });
    expect(
      team?.members.map(({ user, role, membership_state }) => [user.id, role, membership_state]),
    ).toEqual([
      [people.owner, 'admin', 2],
      [people.admin, 'admin', 2],
      [people.developer, 'developer', 2],
      [people.reader, 'read_only', 2],
      [people.invited, 'admin', 1],
    ]);
    expect(JSON.stringify(body)).not.toContain('team_id":null');
  });

  test('changes owner with its team, and leaves the team when it is given to one person', async () => {
    await engine.admin.changeTeam(teamId, { kind: 'setOwner', userId: people.admin! });
    const ownerOf = async () =>
      (await engine.admin.showApplication(made.application.id)).application.owner_id;
    expect(await ownerOf()).toBe(people.admin);
    await expect(engine.admin.changeTeam(teamId, { kind: 'delete' })).rejects.toThrow('has applications');
    await engine.admin.setApplicationOwner({
      applicationId: made.application.id,
      ownerId: people.stranger!,
    });
    expect(await ownerOf()).toBe(people.stranger);
    const body = await engine.api.get_my_application({}, { as: made.bot.id });
    expect([body.team, body.owner?.id]).toEqual([null, people.stranger]);
    expect(await engine.admin.changeTeam(teamId, { kind: 'delete' })).toBeNull();
    await expect(engine.admin.showTeam(teamId)).rejects.toThrow(`There is no team ${teamId}.`);
  });

  test('is readable for an invited person from accepting until leaving, and strangers cannot accept', async () => {
    const { api } = await engine.listen();
    const at = '/teams';
    const [captain, sailor, guest] = await Promise.all(
      ['captain', 'sailor', 'guest'].map(async (name) => {
        const { user, token } = await engine.admin.createUser({ username: `crew.${name}` });
        const ask = async (method: string, path: string) => {
          const headers = { authorization: `Bearer ${token}` };
          const reply = await fetch(`${api}/v10${path}`, { method, headers });
          const text = await reply.text();
          return { status: reply.status, body: text === '' ? null : JSON.parse(text) };
        };
        return { id: user.id as UserId, ask };
      }),
    );
    if (!captain || !sailor || !guest) throw new Error('no people');
    const team = await engine.admin.createTeam({ name: 'Sailors', ownerId: captain.id });
    const own = `${at}/${team.id}/members/@me`;
    const invite = () =>
      engine.admin.changeTeam(team.id, {
        ...{ kind: 'setMember', userId: sailor.id, role: 'developer', isInvited: true },
      });
    await invite();
    const application = await engine.admin.createApplication({ name: 'Sail', ownerId: captain.id });
    const applicationId = application.application.id;
    await engine.admin.changeTeam(team.id, { kind: 'adopt', applicationId });
    const read = () =>
      codeOf(engine.api.get_application({ params: { application_id: applicationId } }, { as: sailor.id }));

    const states = async () =>
      (await sailor.ask('GET', at)).body.flatMap(({ members }: { members: Record<string, unknown>[] }) =>
        members.map(({ role, membership_state }) => [role, membership_state]),
      );
    expect([await states(), await read()]).toEqual([
      [
        ['admin', 2],
        ['developer', 1],
      ],
      NO,
    ]);
    // To a stranger the team is as unknown as one that does not exist.
    expect((await guest.ask('GET', at)).body).toEqual([]);
    for (const path of [own, `${at}/12/members/@me`])
      for (const method of ['PUT', 'DELETE'])
        expect((await guest.ask(method, path)).body).toEqual({ message: '404: Not Found', code: 0 });

    for (const _again of [1, 2]) {
      const { status, body } = await sailor.ask('PUT', own);
      expect([status, body.id, body.members[1].membership_state]).toEqual([200, team.id, 2]);
    }
    expect(await read()).toBe('ok');
    expect((await captain.ask('PUT', own)).status).toBe(200);
    expect((await captain.ask('DELETE', own)).status).toBe(400);
    expect((await sailor.ask('DELETE', own)).status).toBe(204);
    expect([await read(), (await sailor.ask('GET', at)).body]).toEqual([NO, []]);
    await invite();
    expect((await sailor.ask('DELETE', own)).status).toBe(204);
    expect((await sailor.ask('PUT', own)).status).toBe(404);
  });

  test.each(['createTeam', 'changeTeam'] as const)(
    'rejects bots as members of its team: %s',
    async (call) => {
      const bot = made.bot.id as UserId;
      const team = await engine.admin.createTeam({ name: 'Crew', ownerId: people.owner! });
      const refused =
        call === 'createTeam'
          ? engine.admin.createTeam({ name: 'Robots', ownerId: bot })
          : engine.admin.changeTeam(team.id, {
              ...{ kind: 'setMember', userId: bot, role: 'admin', isInvited: false },
            });
      await expect(refused).rejects.toMatchObject({ refusal: { code: 50_132 } });
    },
  );
});
