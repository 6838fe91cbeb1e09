// Goal: an application is used by itself and by the people who own it; every other caller gets 20012.
import { describe, expect, test } from 'vitest';
import type { ApplicationAction, Team } from '../../../engine/application/teams.ts';
import type { Application } from '../../../engine/user/facts.ts';
import type { ApplicationId, FreshId, UserId } from '../../../protocol/ids.ts';
import { createApplicationAccess } from '../../../services/applications/access.ts';
import { teamRights } from '../../../services/applications/teams.ts';
import { id } from '../../support/guild.ts';

const APPLICATION = id<ApplicationId>(77);
const OTHER = id<ApplicationId>(78);
const OWNER = id<UserId>(10);
const READER = id<UserId>(11);
const STRANGER = id<UserId>(12);

const TEAM: Team = {
  ...{ id: id<FreshId>(5), name: 'Team', icon: null, ownerId: OWNER },
  members: [{ userId: READER, role: 'read_only', state: 2 }],
};

const access = createApplicationAccess({
  applications: {
    get: async (known) =>
      known === APPLICATION
        ? ({ id: APPLICATION, owner_id: OWNER, team_id: TEAM.id } as unknown as Application)
        : null,
  },
  teams: teamRights({ teams: { get: async () => TEAM } }),
});

const bot = (applicationId: ApplicationId) =>
  ({ kind: 'bot', userId: id<UserId>(1000), applicationId, authorization: null }) as const;
const user = (userId: UserId) =>
  ({ kind: 'user', userId, applicationId: null, authorization: null }) as const;
/** An application that acts for a user. */
const acting = (userId: UserId, applicationId: ApplicationId) =>
  ({ kind: 'user', userId, applicationId, authorization: {} }) as const;

const ALLOWED = undefined;
const DENIED = 20_012;

describe('application access', () => {
  test.each([
    ["the application's bot", bot(APPLICATION), ALLOWED, ALLOWED],
    ['the application acting for a user', acting(STRANGER, APPLICATION), ALLOWED, ALLOWED],
    ["another application's bot", bot(OTHER), DENIED, DENIED],
    ['another application acting for the owner', acting(OWNER, OTHER), DENIED, DENIED],
    ['a user', user(STRANGER), DENIED, ALLOWED],
    ['the owner', user(OWNER), DENIED, ALLOWED],
  ])('distinguishes applications and users: %s', (_, caller, asApplication, asUserOrApplication) => {
    expect(access.applicationRefusal(caller, APPLICATION)?.code).toBe(asApplication);
    expect(access.userOrApplicationRefusal(caller, APPLICATION)?.code).toBe(asUserOrApplication);
  });

  test.each<[string, Parameters<typeof access.open>[0], ApplicationAction, number | undefined]>([
    ["opens to the application's bot", bot(APPLICATION), 'update', ALLOWED],
    [
      'opens to the application acting for a user, to attach',
      acting(STRANGER, APPLICATION),
      'attach',
      ALLOWED,
    ],
    [
      'is closed to the application acting for a user, to update',
      acting(STRANGER, APPLICATION),
      'update',
      DENIED,
    ],
    [
      'is closed to the application acting for its owner, to update',
      acting(OWNER, APPLICATION),
      'update',
      DENIED,
    ],
    ['opens to its owner', user(OWNER), 'update', ALLOWED],
    ['opens to a team member for what the role allows', user(READER), 'view', ALLOWED],
    ['is closed to a team member for what the role does not allow', user(READER), 'update', DENIED],
    ['is closed to strangers', user(STRANGER), 'view', DENIED],
    ["is closed to another application's bot", bot(OTHER), 'view', DENIED],
    ['is closed to another application acting for the owner', acting(OWNER, OTHER), 'view', DENIED],
  ])('%s', async (_, caller, action, code) => {
    const opened = await access.open(caller, APPLICATION, action);
    expect(opened.ok ? undefined : opened.refusal.code).toBe(code);
  });

  test('refuses an unknown application with 10002', async () => {
    expect(await access.open(bot(OTHER), OTHER, 'view')).toMatchObject({ refusal: { code: 10_002 } });
  });

  test.each([
    ['of all users for the bot', bot(APPLICATION), null],
    ['of all users for the owner', acting(OWNER, APPLICATION), null],
    ['of all users for a team member who may view them', acting(READER, APPLICATION), null],
    ['of the user alone for another user', acting(STRANGER, APPLICATION), STRANGER],
  ])('reaches entitlements %s', async (_, caller, userId) => {
    const scope = await access.entitlements(caller, APPLICATION, 'viewEntitlements');
    expect(scope).toEqual({ ok: true, value: { userId } });
  });

  test.each([bot(OTHER), user(OWNER), acting(OWNER, OTHER)])(
    'reaches no entitlements through another application or none: %o',
    async (caller) => {
      const scope = await access.entitlements(caller, APPLICATION, 'viewEntitlements');
      expect(scope).toMatchObject({ refusal: { code: DENIED } });
    },
  );
});
