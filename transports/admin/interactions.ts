import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Engine } from '../../embedding.ts';
import type { Application } from '../../engine/user/facts.ts';
import { ApiError } from '../../protocol/apierror.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { AdminError, type AdminRoute } from './route.ts';

/** Body of `POST /interactions`. Defaults: a guild of the bot, its first text channel, its owner. */
const Body = Compile(
  Type.Object(
    {
      /** Id or name of an application. */
      bot: Type.String({ minLength: 1, maxLength: 100 }),
      text: Type.String({ minLength: 1, maxLength: 8_000 }),
      as: Type.Optional(Type.String({ pattern: '^[0-9]{1,20}$' })),
      guild_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,20}$' })),
      channel_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,20}$' })),
    },
    { additionalProperties: false },
  ),
);

const GUILDS_MAX = 100;
const TEXT_CHANNEL = 0;

type Invoking = Pick<Engine, 'admin' | 'api' | 'interact'>;

/** `POST /interactions`: runs a command of a bot as a user. */
export const interactionRoute: AdminRoute = {
  method: 'POST',
  path: '/interactions',
  async handle(engine, { body }) {
    if (!Body.Check(body))
      throw new AdminError(
        400,
        'invalid_body',
        'Expected bot and text, not empty; as, guild_id and channel_id are ids and can be left out.',
      );
    const application = await applicationOf(engine, body.bot);
    const place = await placeOf(engine, application, body);
    try {
      const answer = await engine.interact({
        ...{ command: slashed(body.text), applicationId: application.id },
        ...{ as: place.userId, guildId: place.guildId, channelId: place.channelId },
      });
      return { status: 200, body: { ...answer, as: place.userId, channel_id: place.channelId } };
    } catch (error) {
      if (error instanceof Error && (error.name === 'InvocationError' || error instanceof ApiError))
        throw new AdminError(400, 'refused', error.message);
      if (error instanceof RangeError) throw new AdminError(404, '10013', error.message);
      throw error;
    }
  },
};

const slashed = (text: string): string => (text.startsWith('/') ? text : `/${text}`);

const APPLICATIONS_AT_ONCE = 1_000;
const NAMES_SHOWN = 20;

async function applicationOf({ admin }: Invoking, wanted: string): Promise<Application> {
  const lower = wanted.toLowerCase();
  const names: string[] = [];
  for (let after: ApplicationId | null = null; ; ) {
    const page: Application[] = await admin.listApplications(after, APPLICATIONS_AT_ONCE);
    const found = page.find(
      ({ id, name, bot_id }) => id === wanted || bot_id === wanted || name.toLowerCase() === lower,
    );
    if (found) return found;
    names.push(...page.slice(0, NAMES_SHOWN - names.length).map(({ name }) => name));
    after = page.at(-1)?.id ?? null;
    if (page.length < APPLICATIONS_AT_ONCE) break;
  }
  throw new AdminError(404, '10002', `There is no application "${wanted}". There is: ${names.join(', ')}.`);
}

interface InvocationQuery {
  readonly as?: string;
  readonly guild_id?: string;
  readonly channel_id?: string;
}

/** The place and the user of the request; the first suitable one where a field is absent. */
async function placeOf(
  engine: Invoking,
  { bot_id: botId, name }: Application,
  { as, guild_id: wantedId, channel_id: channelId }: InvocationQuery,
): Promise<{ readonly userId: string; readonly guildId: string; readonly channelId: string }> {
  const guilds = await engine.admin.listGuilds(null, GUILDS_MAX);
  for (const { id } of guilds) {
    if (botId === null || (wantedId !== undefined && wantedId !== id)) continue;
    const params = { guild_id: id };
    const guild = await engine.api.get_guild({ params }, { as: botId }).catch(() => null);
    const channels = await engine.api.list_guild_channels({ params }, { as: botId }).catch(() => []);
    const first = channels.find((one) => one.type === TEXT_CHANNEL);
    const ownerId = guild?.owner_id ?? null;
    const place = channelId ?? first?.id;
    if (ownerId !== null && place !== undefined)
      return { userId: as ?? ownerId, guildId: id, channelId: place };
  }
  throw new AdminError(
    404,
    '10004',
    `${name} is in no such guild with a text channel. Give guild_id and channel_id.`,
  );
}
