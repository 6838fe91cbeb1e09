import { flag, integer, link, object, type Schema, text, type ValueOf } from './schema.ts';

const gateway = object(
  {
    url: link,
  },
  'Gateway',
);
export interface Gateway extends ValueOf<typeof gateway> {}
export const Gateway: Schema<Gateway> = gateway;

const gatewayBotSessionStartLimit = object(
  {
    max_concurrency: integer,
    remaining: integer,
    reset_after: integer,
    total: integer,
  },
  'GatewayBotSessionStartLimit',
);

const gatewayBot = object(
  {
    url: link,
    session_start_limit: gatewayBotSessionStartLimit,
    shards: integer,
  },
  'GatewayBot',
);
export interface GatewayBot extends ValueOf<typeof gatewayBot> {}
export const GatewayBot: Schema<GatewayBot> = gatewayBot;

const voiceRegion = object(
  {
    id: text,
    name: text,
    custom: flag,
    deprecated: flag,
    optimal: flag,
  },
  'VoiceRegion',
);
export interface VoiceRegion extends ValueOf<typeof voiceRegion> {}
export const VoiceRegion: Schema<VoiceRegion> = voiceRegion;
