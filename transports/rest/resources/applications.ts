import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Application } from '../../../engine/user/facts.ts';
import { type ChannelId, snowflakeOf, type UserId } from '../../../protocol/ids.ts';
import { invalidField, refusal } from '../../../protocol/refusal.ts';
import { Application as ApplicationObject, OwnApplication } from '../../../protocol/schemas/application.ts';
import { ActivitiesAttachment } from '../../../protocol/schemas/message.ts';
import {
  Arr,
  Choice,
  Dict,
  Flags,
  ImageData,
  Int,
  Nullable,
  Obj,
  OneOf,
  Optional,
  PermissionBits,
  type Static,
  Str,
  Url,
} from '../../../protocol/schemas/request.ts';
import { applicationBody, publicApplicationBody } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { type Answer, type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { newFiles } from './messages.files.ts';

/** Flags that an owner may change: the privileged intents of an unverified application. */
const OWN_FLAGS = (1 << 13) | (1 << 15) | (1 << 19);
const BUCKET = { per: null, limit: 10, windowMs: 10_000, group: 'applications' } as const;

const URL_CHARS_MAX = 2048;
const InstallParams = Obj({
  scopes: Optional(Nullable(Arr(Choice('applications.commands', 'bot'), 2, 1))),
  permissions: Optional(Nullable(PermissionBits())),
});
const IntegrationType = Obj({ oauth2_install_params: Optional(Nullable(InstallParams)) });
const WebhookEvent = Choice(
  'APPLICATION_AUTHORIZED',
  'APPLICATION_DEAUTHORIZED',
  'ENTITLEMENT_CREATE',
  'ENTITLEMENT_DELETE',
  'ENTITLEMENT_UPDATE',
  'GAME_DIRECT_MESSAGE_CREATE',
  'GAME_DIRECT_MESSAGE_DELETE',
  'GAME_DIRECT_MESSAGE_UPDATE',
  'LOBBY_MESSAGE_CREATE',
  'LOBBY_MESSAGE_DELETE',
  'LOBBY_MESSAGE_UPDATE',
  'QUEST_USER_ENROLLMENT',
);

const UpdateApplication = Obj({
  // The platform's OpenAPI has the localized form; its client libraries send plain text.
  description: Optional(
    Nullable(
      OneOf(
        Str(0, 400),
        Obj({ default: Str(0, 400), localizations: Optional(Nullable(Dict(Str(0, 400), 34))) }),
      ),
    ),
  ),
  icon: Optional(Nullable(ImageData())),
  cover_image: Optional(Nullable(ImageData())),
  flags: Optional(Nullable(Flags())),
  interactions_endpoint_url: Optional(Nullable(Url(URL_CHARS_MAX))),
  explicit_content_filter: Optional(Nullable(Choice(0, 1))),
  max_participants: Optional(Nullable(Int(-1, 2 ** 31 - 1))),
  tags: Optional(Nullable(Arr(Str(1, 20), 5))),
  custom_install_url: Optional(Nullable(Url(URL_CHARS_MAX))),
  install_params: Optional(Nullable(InstallParams)),
  role_connections_verification_url: Optional(Nullable(Url(URL_CHARS_MAX))),
  integration_types_config: Optional(Nullable(Dict(Nullable(IntegrationType), 2))),
  event_webhooks_status: Optional(Nullable(Choice(1, 2))),
  event_webhooks_url: Optional(Nullable(Url(URL_CHARS_MAX))),
  event_webhooks_types: Optional(Nullable(Arr(WebhookEvent, 16))),
});
type Draft = Static<typeof UpdateApplication>;

export const applications = resource({
  get_my_application: op({
    method: 'GET',
    path: '/applications/@me',
    auth: 'bot',
    bucket: BUCKET,
    status: 200,
    reply: OwnApplication,
    handle: ({ caller }, services) => mine(caller, services),
  }),

  get_my_oauth2_application: op({
    method: 'GET',
    path: '/oauth2/applications/@me',
    auth: 'bot',
    bucket: BUCKET,
    status: 200,
    reply: OwnApplication,
    handle: ({ caller }, services) => mine(caller, services),
  }),

  get_application: op({
    method: 'GET',
    path: '/applications/:application_id',
    auth: 'any',
    bucket: BUCKET,
    status: 200,
    reply: OwnApplication,
    async handle({ params, caller }, services) {
      const opened = await services.applicationAccess.open(caller, params.application_id, 'view');
      return opened.ok ? { ok: true, value: await rendered(opened.value, services) } : opened;
    },
  }),

  update_my_application: op({
    method: 'PATCH',
    path: '/applications/@me',
    auth: 'bot',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateApplication,
    status: 200,
    reply: OwnApplication,
    handle: async ({ body, caller }, services) =>
      updated(await applicationOf(caller, services), body, services),
  }),

  update_application: op({
    method: 'PATCH',
    path: '/applications/:application_id',
    auth: 'any',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateApplication,
    status: 200,
    reply: OwnApplication,
    async handle({ body, caller, params }, services) {
      const opened = await services.applicationAccess.open(caller, params.application_id, 'update');
      return opened.ok ? updated(opened.value, body, services) : opened;
    },
  }),

  upload_application_attachment: op({
    method: 'POST',
    path: '/applications/:application_id/attachment',
    auth: 'any',
    scope: 'any',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    multipart: true,
    status: 200,
    reply: ActivitiesAttachment,
    async handle({ caller, params, files, publicUrl }, services) {
      const opened = await services.applicationAccess.open(caller, params.application_id, 'attach');
      if (!opened.ok) return opened;
      const upload = files.find(({ field }) => field === 'file');
      if (!upload) return { ok: false, refusal: invalidField(['file'], 'BASE_TYPE_REQUIRED', REQUIRED) };
      const channelId = filesChannelOf(opened.value.id);
      const urls = { nextId: services.nextId, channelId, publicUrl };
      const made = newFiles(urls, { files: [{ upload, note: undefined }] });
      const stored = await services.messageFiles.store({ channelId, fits: async () => true }, made);
      return stored.ok ? { ok: true, value: { attachment: stored.value[0] } } : stored;
    },
  }),
});

const REQUIRED = 'This field is required';

/** The files of an application are stored as if in a channel, which has the application's id. */
const filesChannelOf = (id: string): ChannelId => snowflakeOf(BigInt(id));

async function updated(before: Application | null, draft: Draft, services: Services): Promise<Answer> {
  if (!before) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
  const change = await changeOf(before, draft, services);
  if (!change.ok) return change;
  const reply = await services.applications.update(before.id, change.value);
  return reply.ok ? { ok: true, value: await rendered(reply.value, services) } : reply;
}

async function applicationOf({ applicationId }: Caller, { read }: Services): Promise<Application | null> {
  return applicationId === null ? null : read.applications.get(applicationId);
}

async function mine(caller: Caller, services: Services): Promise<Answer> {
  const application = await applicationOf(caller, services);
  if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
  return { ok: true, value: await rendered(application, services) };
}

async function rendered(application: Application, { read, teams }: Services): Promise<object> {
  const { bot_id, owner_id } = application;
  const team = await teams.of(application);
  const people = team?.members.map(({ userId }) => userId) ?? [];
  const users = await read.users.get([owner_id, ...(bot_id === null ? [] : [bot_id]), ...people]);
  const find = (id: UserId | null) => users.find((user) => user.id === id) ?? null;
  return applicationBody(application, { owner: find(owner_id), bot: find(bot_id), team, find });
}

/** Converts a request to changes of the stored application. Null resets a field to its default. */
async function changeOf(
  { id, flags }: Application,
  draft: Draft,
  { blobs }: Services,
): Promise<Reply<Partial<Application>>> {
  const { description, icon, cover_image, flags: wanted, ...rest } = draft;
  const change: { -readonly [K in keyof Application]?: Application[K] } = {};
  if (description !== undefined) change.description = textOf(description);
  if (wanted != null) change.flags = (flags & ~OWN_FLAGS) | (wanted & OWN_FLAGS);
  for (const [field, image] of [
    ['icon', icon],
    ['cover_image', cover_image],
  ] as const) {
    if (image === undefined) continue;
    const saved = image === null ? null : await saveImage(blobs, 'app-icons', id, image, field);
    if (saved && !saved.ok) return saved;
    change[field] = saved?.value ?? null;
  }
  return { ok: true, value: { ...change, ...plainFields(rest) } };
}

type Description = NonNullable<Draft['description']> | null;
function textOf(description: Description): string {
  if (description === null) return '';
  return typeof description === 'string' ? description : description.default;
}

type PlainDraft = Omit<Draft, 'description' | 'icon' | 'cover_image' | 'flags'>;
function plainFields(draft: PlainDraft): Partial<Application> {
  const {
    tags,
    event_webhooks_types: types,
    event_webhooks_status: status,
    explicit_content_filter,
    ...rest
  } = draft;
  const { install_params, integration_types_config, ...same } = rest;
  return {
    ...same,
    ...(tags === undefined ? {} : { tags: [...new Set(tags ?? [])] }),
    ...(types === undefined ? {} : { event_webhooks_types: [...new Set(types ?? [])] }),
    ...(status === undefined ? {} : { event_webhooks_status: status ?? 1 }),
    ...(explicit_content_filter === undefined
      ? {}
      : { explicit_content_filter: explicit_content_filter ?? 0 }),
    ...(install_params === undefined ? {} : { install_params: installed(install_params) }),
    ...(integration_types_config === undefined
      ? {}
      : { integration_types_config: integrated(integration_types_config) }),
  };
}

type Install = Static<typeof InstallParams>;
const installed = (params: Install | null): object | null =>
  params && { scopes: params.scopes ?? [], permissions: params.permissions ?? '0' };

function integrated(
  config: Readonly<Record<string, Static<typeof IntegrationType> | null>> | null,
): object | null {
  if (config === null) return null;
  const entries = Object.entries(config).map(([type, value]) => {
    const params = value?.oauth2_install_params;
    return [type, params ? { oauth2_install_params: installed(params) } : {}];
  });
  return Object.fromEntries(entries);
}

/** Operations that the published file does not list. */
export const applicationsUnlisted = resource({
  /** For the RPC server of a person, which shows the application to them. @source https://docs.discord.food/resources/application */
  get_rpc_application: op({
    method: 'GET',
    path: '/applications/:application_id/rpc',
    auth: 'user',
    bucket: BUCKET,
    status: 200,
    reply: ApplicationObject,
    async handle({ params }, { read }) {
      const application = await read.applications.get(params.application_id);
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      return { ok: true, value: publicApplicationBody(application, null) };
    },
  }),
});
