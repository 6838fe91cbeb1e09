import type { DispatchPayloads, Engine } from '../embedding.ts';
import type { ApplicationId, GuildId, UserId } from '../protocol/ids.ts';

/** The demo's built-in bot: its application, and the user it acts as. */
export interface Guide {
  readonly application_id: ApplicationId;
  readonly bot_id: UserId;
}

interface Answer {
  readonly type: typeof REPLY | typeof UPDATE | typeof MODAL;
  readonly data: object;
}

/** Where the guide lives. */
interface GuideHome {
  readonly owner_id: UserId;
  readonly guild: { readonly id: GuildId; readonly text_channel_id: string };
}

type Invoked = DispatchPayloads['INTERACTION_CREATE'];

/** @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-type */
const COMMAND = 2;
const COMPONENT = 3;
const SUBMIT = 5;
/** @source https://docs.discord.com/developers/interactions/receiving-and-responding, "Interaction Callback Type" */
const REPLY = 4;
const UPDATE = 7;
const MODAL = 9;
/** Flags of messages: only the reader sees it; it consists of components. */
const EPHEMERAL = 1 << 6;
const COMPONENTS_V2 = 1 << 15;
const COLOURS = ['Teal', 'Amber', 'Violet'] as const;

/** Makes the guide's application, which joins the demo guild. */
export async function makeGuide(engine: Engine, { guild, owner_id: ownerId }: GuideHome): Promise<Guide> {
  const { application, bot } = await engine.admin.createApplication({
    name: 'Guide',
    ownerId,
    guildId: guild.id,
  });
  const guide = { application_id: application.id, bot_id: bot.id };
  const path = { application_id: application.id, guild_id: guild.id };
  const body = { name: 'hello', description: 'Shows a button, a select and a form' };
  // The declaration reads the body by itself, so its type is not known here.
  const call = { params: path, body };
  await engine.api.create_guild_application_command(call, { as: bot.id });
  const to = { channel_id: guild.text_channel_id };
  for (const message of WELCOME)
    await engine.api.create_message({ params: to, body: message }, { as: bot.id });
  return guide;
}

/** Answers the guide's interactions inside this process. @returns a function that stops it. */
export const runGuide = (engine: Engine, { application_id: id, bot_id: botId }: Guide): (() => void) =>
  engine.on('INTERACTION_CREATE', (interaction) => {
    if (interaction.application_id !== id) return;
    const params = { interaction_id: interaction.id, interaction_token: interaction.token };
    const body = answerTo(interaction);
    // The server refuses late answers; the invoker receives INTERACTION_FAILURE.
    if (body !== null)
      engine.api.create_interaction_response({ params, body }, { as: botId }).catch(() => undefined);
  });

/** The guide's answer; null for a command or component that the guide does not have. */
function answerTo(interaction: Invoked): Answer | null {
  if (interaction.type === COMMAND) return { type: REPLY, data: HELLO };
  if (interaction.type === COMPONENT) {
    const { custom_id: pressed } = interaction.data;
    if (pressed === 'write') return { type: MODAL, data: FORM };
    if (pressed === 'colour') {
      const [colour = ''] = 'values' in interaction.data ? interaction.data.values : [];
      return { type: REPLY, data: { content: `You chose ${colour}.`, flags: EPHEMERAL } };
    }
    const times = Number(pressed.split(':')[1] ?? 0) + 1;
    return { type: UPDATE, data: { components: controls(times) } };
  }
  if (interaction.type === SUBMIT)
    return { type: REPLY, data: { content: `You wrote: ${writtenIn(interaction)}` } };
  return null;
}

function writtenIn({ data }: Extract<Invoked, { readonly type: 5 }>): string {
  for (const row of data.components) {
    const fields = 'component' in row ? [row.component] : 'components' in row ? row.components : [];
    for (const field of fields) if ('value' in field) return String(field.value).slice(0, 1000);
  }
  return 'nothing';
}

const controls = (times: number) => [
  {
    type: 1,
    components: [
      {
        type: 2,
        style: 1,
        custom_id: `press:${times}`,
        label: times === 0 ? 'Press me' : `Pressed ${times} ×`,
      },
      { type: 2, style: 2, custom_id: 'write', label: 'Write something' },
    ],
  },
  {
    type: 1,
    components: [
      {
        ...{ type: 3, custom_id: 'colour', placeholder: 'Choose a colour' },
        options: COLOURS.map((name) => ({ label: name, value: name.toLowerCase() })),
      },
    ],
  },
];

const HELLO = {
  content: '**Hello!** Press the button, open the form, or choose a colour.',
  components: controls(0),
};

const FORM = {
  custom_id: 'form',
  title: 'Write something',
  components: [
    {
      type: 18,
      label: 'Your words',
      component: { type: 4, custom_id: 'words', style: 2, max_length: 1000, required: true },
    },
  ],
};

/** The channel's first message. */
const WELCOME: readonly object[] = [
  {
    flags: COMPONENTS_V2,
    components: [
      {
        type: 17,
        accent_color: 0x2f6653,
        components: [
          {
            type: 10,
            content: '## Welcome to the Guildhall\nThis server speaks the wire that your bot already knows.',
          },
          { type: 14, divider: true },
          {
            type: 10,
            content:
              '- Type `/hello`: a bot inside this server answers\n- Connect **your own bot** with the card beside the chat\n- Watch the gateway frames below as they pass',
          },
        ],
      },
    ],
  },
  {
    poll: {
      question: { text: 'What do you build?' },
      answers: ['A bot', 'A game with lobbies', 'A voice room'].map((text) => ({ poll_media: { text } })),
      duration: 168,
      allow_multiselect: true,
    },
  },
];
