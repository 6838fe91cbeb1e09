import { commandsIn } from './invocation.ts';
import { createPerson, type InteractionAnswer, type Person, type Place } from './person.ts';

const HEARD = [
  ...(['INTERACTION_CREATE', 'INTERACTION_SUCCESS', 'INTERACTION_FAILURE'] as const),
  ...(['INTERACTION_MODAL_CREATE', 'APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE'] as const),
  ...(['MESSAGE_CREATE', 'MESSAGE_UPDATE'] as const),
];

/** Operations that a person uses here. */
type Used =
  | 'create_interaction'
  | 'get_channel_application_command_index'
  | 'get_guild_application_command_index'
  | 'get_my_application_command_index';

/** The engine's functions that are used here. */
interface EmbeddedServer {
  call(
    operationId: Used,
    call: {
      readonly params?: Readonly<Record<string, string>>;
      readonly body?: unknown;
      readonly files?: readonly {
        readonly field: string;
        readonly filename: string;
        readonly contentType: string;
        readonly bytes: Uint8Array;
      }[];
    },
    options: { readonly as: string },
  ): Promise<unknown>;
  listen(t: (typeof HEARD)[number], listener: (d: unknown) => void): () => void;
}

/** A user of an embedded engine, as a person who uses applications. */
function embeddedPerson(server: EmbeddedServer, userId: string, applicationId?: string): Person {
  const as = { as: userId };
  return createPerson({
    sessionId: null,
    async commands({ guildId, channelId }: Place) {
      const index =
        guildId === null
          ? server.call('get_channel_application_command_index', { params: { channel_id: channelId } }, as)
          : server.call('get_guild_application_command_index', { params: { guild_id: guildId } }, as);
      const own = server.call('get_my_application_command_index', {}, as);
      return commandsIn(await Promise.all([index, own])).filter(
        (one) => applicationId === undefined || one.application_id === applicationId,
      );
    },
    async send(body, files) {
      const sent = files.map(({ filename, bytes }, id) => ({
        ...{ field: `files[${id}]`, filename, bytes },
        contentType: 'application/octet-stream',
      }));
      await server.call('create_interaction', { body, ...(sent.length > 0 && { files: sent }) }, as);
    },
    listen(listener) {
      const stops = HEARD.map((t) =>
        server.listen(t, (d) => {
          if (typeof d === 'object' && d !== null) listener(t, d);
        }),
      );
      return () => {
        for (const stop of stops) stop();
      };
    },
  });
}

/** One invocation of a command: what is typed, or a name with options. */
export interface Interact {
  /** The user who runs the command. */
  readonly as: string;
  /** `ping`, `settings colour set`, or all that a person types: `/ping text:hello`. */
  readonly command: string;
  readonly options?: Parameters<Person['slash']>[1];
  /** The application of the command, where several applications have one of that name. */
  readonly applicationId?: string;
  /** Absent in a private channel. */
  readonly guildId?: string;
  readonly channelId: string;
}

/** Runs a command as a user. @returns what the user would see. */
function interactAs(
  server: EmbeddedServer,
  { as, command, options = {}, applicationId, guildId, channelId }: Interact,
): Promise<InteractionAnswer> {
  const person = embeddedPerson(server, as, applicationId);
  const place = { guildId: guildId ?? null, channelId };
  return command.startsWith('/') ? person.type(command, place) : person.slash(command, options, place);
}

/** Interactions of an engine's people with applications. */
export const interactions = (server: EmbeddedServer) => ({
  interact: (invocation: Interact) => interactAs(server, invocation),
  person: (userId: string) => embeddedPerson(server, userId),
});
