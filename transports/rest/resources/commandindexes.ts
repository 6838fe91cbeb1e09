import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { CommandIndex as CommandIndexObject } from '../../../protocol/schemas/account.ts';
import type { CommandIndex } from '../../../services/applications/commandindex.ts';
import { commandBody, localesOf } from '../appcommands.ts';
import { type Answer, op, resource } from '../operation.ts';

// Not in the platform's documents; the limit is this server's own.
const READ = { per: null, limit: 20, windowMs: 10_000 } as const;

/** The index as a person's client reads it: names and descriptions in the caller's language, with the originals. */
function answerOf(reply: Reply<CommandIndex>, tags: readonly string[]): Answer {
  if (!reply.ok) return reply;
  const { applications, commands, version } = reply.value;
  const locales = localesOf(tags);
  return {
    ok: true,
    value: {
      applications: applications.map(({ application, permissions, bot }) => {
        const { id, name, description, icon, bot_id, flags } = application;
        return {
          ...{ id, name, description, icon, bot_id, flags: String(flags) },
          ...(permissions && { permissions }),
          ...(bot && { bot }),
        };
      }),
      application_commands: commands.map(({ command, permissions }) => ({
        ...commandBody(command, locales, 'shown'),
        ...(permissions && { permissions }),
      })),
      version,
    },
  };
}

/** The commands that a person can use, for completion in a client. */
export const commandIndexes = resource({
  get_guild_application_command_index: op({
    method: 'GET',
    path: '/guilds/:guild_id/application-command-index',
    auth: 'user',
    bucket: READ,
    status: 200,
    reply: CommandIndexObject,
    handle: async ({ params, authority, locales }, { commandIndexes: indexes }) =>
      answerOf(await indexes.ofGuild(params.guild_id, authority), locales),
  }),
  get_channel_application_command_index: op({
    method: 'GET',
    path: '/channels/:channel_id/application-command-index',
    auth: 'user',
    bucket: READ,
    status: 200,
    reply: CommandIndexObject,
    handle: async ({ params, caller, locales }, { commandIndexes: indexes }) =>
      answerOf(await indexes.ofChannel(params.channel_id, caller.userId), locales),
  }),
  get_my_application_command_index: op({
    method: 'GET',
    path: '/users/@me/application-command-index',
    auth: 'user',
    bucket: READ,
    status: 200,
    reply: CommandIndexObject,
    handle: async ({ caller, locales }, { commandIndexes: indexes }) =>
      answerOf(await indexes.ofUser(caller.userId), locales),
  }),
  get_application_command_index: op({
    method: 'GET',
    path: '/applications/:application_id/application-command-index',
    auth: 'user',
    bucket: READ,
    status: 200,
    reply: CommandIndexObject,
    handle: async ({ params, caller, locales }, { commandIndexes: indexes }) =>
      answerOf(await indexes.ofApplication(params.application_id, caller.userId), locales),
  }),
});
