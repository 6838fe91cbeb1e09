import type { Authority } from '../../engine/kernel/authority.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { openInstance, RecordingSink, until } from './instance.ts';

export type LobbyInstance = Awaited<ReturnType<typeof openLobbyInstance>>;
export type Player = Awaited<ReturnType<LobbyInstance['player']>>;

const AS = { applicationFlags: 0, reason: null };

/** An instance with the bot of an application and players that it acts for. */
export async function openLobbyInstance(...options: Parameters<typeof openInstance>) {
  const instance = await openInstance(...options);
  const application = await instance.storage.applications.byBot(instance.botId);
  const applicationId = application?.id as ApplicationId;
  const { lobbies, oauth } = instance.features;
  let players = 0;

  const bot: Authority = { by: { ...AS, userId: instance.botId, bot: true, applicationId }, requires: 0n };

  async function player(name = `player${++players}`, scopes: Scope[] = ['sdk.social_layer']) {
    const made = await instance.operator.createUser({ username: name });
    const userId = made.user.id as UserId;
    const by = { ...AS, userId, bot: false, applicationId };
    const token = async (): Promise<string> => {
      const issued = await oauth.issue({ userId, applicationId, scopes, refreshable: false });
      return issued.accessToken.reveal();
    };
    return {
      userId,
      user: made.user,
      authority: { by, requires: 0n } as Authority,
      token,
      async connect(intents = ALL_INTENTS, capabilities = 0) {
        const sink = new RecordingSink();
        const outcome = await instance.sessions.identify(
          {
            ...{ token: await token(), intents, shard: [0, 1] as const, largeThreshold: 50 },
            ...{ presence: null, version: 10, capabilities },
          } as Parameters<typeof instance.sessions.identify>[0],
          sink,
        );
        if (outcome.kind !== 'open') throw new Error(`not open: ${JSON.stringify(outcome)}`);
        await until(() => sink.names.includes('READY'), 'READY');
        const dispatched = (t: string): never[] =>
          sink.dispatches.filter((each) => each.t === t).map(({ d }) => d) as never[];
        return { sink, session: outcome.session, dispatched };
      },
    };
  }

  return { ...instance, application, applicationId, lobbies, bot, player };
}
