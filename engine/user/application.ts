import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Application } from './facts.ts';

/** A new application with a bot and default settings. */
export function newApplication(
  id: ApplicationId,
  botId: UserId,
  given: { name: string; ownerId: UserId; flags: number; verifyKey: string },
): Application {
  return {
    id,
    bot_id: botId,
    owner_id: given.ownerId,
    name: given.name,
    icon: null,
    cover_image: null,
    description: '',
    bot_public: true,
    bot_require_code_grant: false,
    flags: given.flags,
    verify_key: given.verifyKey,
    tags: [],
    interactions_endpoint_url: null,
    role_connections_verification_url: null,
    custom_install_url: null,
    redirect_uris: [],
    install_params: null,
    integration_types_config: null,
    event_webhooks_url: null,
    event_webhooks_status: 1,
    event_webhooks_types: [],
    max_participants: null,
    explicit_content_filter: 0,
  };
}
