import { HERE } from '../../../actors/placement/routing.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import type { Mergeable, OutgoingHttp, Provisional } from '../../../services/players/ports.ts';
import { createProvisional, type ProvisionalPorts } from '../../../services/players/provisional.ts';
import { openInstance } from '../../support/instance.ts';

/** A part of the instance that remembers what it was asked to move, and fails or hangs when the test sets it. */
class RecordingPart implements Mergeable {
  readonly moves: string[] = [];
  fail = false;
  /** Set: a move waits for it. */
  gate: Promise<void> | null = null;

  async merge(from: UserId, to: UserId): Promise<void> {
    await this.gate;
    if (this.fail) throw new Error('The part is broken.');
    this.moves.push(`merge ${from} ${to}`);
  }

  async unmerge(from: UserId, to: UserId, applicationId: ApplicationId): Promise<void> {
    await this.gate;
    if (this.fail) throw new Error('The part is broken.');
    this.moves.push(`unmerge ${from} ${to} ${applicationId}`);
  }

  async forgetGame(applicationId: ApplicationId): Promise<void> {
    if (this.fail) throw new Error('The part is broken.');
    this.moves.push(`forget ${applicationId}`);
  }
}

/** JSON by URL; whatever else is asked for fails. A function decides by the request. */
export class ScriptedOutgoing implements OutgoingHttp {
  readonly answers = new Map<string, unknown>();
  readonly asked: string[] = [];
  readonly allowsPrivate = (): boolean => false;

  async json({ url, body = '' }: Parameters<OutgoingHttp['json']>[0]): Promise<unknown> {
    this.asked.push(body === '' ? url : `${url} ${body}`);
    const answer = this.answers.get(url.split('?')[0]!);
    if (answer === undefined) throw new Error(`Nothing answers ${url}.`);
    return answer;
  }
}

type Commit = ProvisionalPorts['commit'];

/** How a shard commits that does not own the foreign ids. */
const committing = (commit: Commit, foreign: ReadonlySet<string>) => ({
  commit,
  commitAsOwner: async (...[ownerId, facts]: Parameters<Commit>): Promise<void> => {
    if (foreign.has(ownerId)) throw new NotServed('The aggregate has moved to another shard.');
    await commit(ownerId, facts);
  },
});

/** Makes games, persons and players. */
function peopleOf(instance: Awaited<ReturnType<typeof openInstance>>, players: Provisional) {
  /** An application of its own for each test. */
  async function game() {
    const made = await instance.operator.createApplication({ name: 'Game' });
    return { id: made.application.id, secret: made.clientSecret, botToken: made.botToken };
  }

  /** A person who has let the application act. */
  async function person(applicationId: ApplicationId, globalName = 'Ada') {
    const { user } = await instance.operator.createUser({ username: 'ada', globalName });
    const userId = user.id as UserId;
    const tokens = await instance.features.oauth.issue({
      userId,
      applicationId,
      scopes: ['openid', 'sdk.social_layer'],
      refreshable: true,
    });
    return { userId, token: tokens.accessToken.reveal() };
  }

  /** Signs a player in by the bot's word and answers who it is. */
  async function enter(applicationId: ApplicationId, player: string, name: string | null = null) {
    const reply = await players.signInByBot(applicationId, player, name);
    if (!reply.ok || reply.value.kind !== 'tokens') throw new Error(JSON.stringify(reply));
    const token = reply.value.tokens.accessToken.reveal();
    const principal = await instance.features.oauth.authenticate(token);
    return { userId: principal!.userId, token, tokens: reply.value.tokens };
  }

  return { game, person, enter };
}

/** Provisional accounts over real stores, grants and sessions, with parts and providers that a test holds. */
export async function openPlayers() {
  const instance = await openInstance();
  const { clock, foundation } = instance;
  const part = new RecordingPart();
  const outgoing = new ScriptedOutgoing();
  const told: { readonly userId: string; readonly t: string; readonly d: object }[] = [];
  const faults: unknown[] = [];
  const later: (() => void)[] = [];
  /** Ids that another shard owns. */
  const foreign = new Set<string>();
  const commits = committing(instance.commit, foreign);

  /** A server that is restarted over the same database; the earlier one's memory is gone with it. */
  const start = (parts: readonly Mergeable[] = [part]) =>
    createProvisional({
      storage: instance.storage,
      outgoing,
      routing: HERE,
      signOut: (userId) => instance.features.accounts.closeAll(userId, null),
      oauth: () => instance.features.oauth,
      mergeables: () => parts,
      ...commits,
      notify: (userId, t, d) => void told.push({ userId, t, d }),
      commitAndNotify: async (ownerId, facts, notifications) => {
        await commits.commitAsOwner(ownerId, facts);
        return () => {
          for (const { userIds, t, d } of notifications)
            told.push(...userIds.map((userId) => ({ userId, t, d })));
        };
      },
      tap: { see: () => undefined },
      schedule: (run) => void later.push(run),
      onFault: (error) => void faults.push(error),
      nextId: foundation.nextId,
      nowMs: () => clock.now(),
      monotonic: () => clock.monotonic(),
      randomBytes: foundation.randomBytes,
    });
  const players = start();
  const people = peopleOf(instance, players);

  const botProof = (token: string) =>
    ({ externalAuthType: 'DISCORD_BOT_ISSUED_ACCESS_TOKEN', externalAuthToken: token }) as const;

  return {
    instance,
    players,
    part,
    outgoing,
    told,
    faults,
    later,
    foreign,
    start,
    ...people,
    botProof,
  };
}

/** The code of a refusal; 0 when it is none. */
export const codeOf = (reply: {
  readonly ok: boolean;
  readonly refusal?: { readonly code: number };
}): number => (reply.ok ? 0 : reply.refusal!.code);
