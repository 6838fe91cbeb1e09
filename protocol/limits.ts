/**
 * All limits of the wire. Keys name the subject first, then the unit and `_max`, `_min` or `_default`. Lengths of text
 * are in UTF-16 code units, as clients count them, unless the key says bytes.
 *
 * @source https://docs.discord.com/developers/reference and the page of each resource beside it; bounds marked "ours"
 * are this server's
 */
export const LIMITS = {
  // Messages.
  content_chars_max: 2_000,
  nonce_chars_max: 25,
  /** How long a nonce is kept for `enforce_nonce`. The platform says "a few minutes"; this value is ours. */
  nonce_ms: 180_000,
  /** Ours. */
  nonces_per_guild_max: 10_000,
  embeds_per_message_max: 10,
  embed_title_chars_max: 256,
  embed_description_chars_max: 4_096,
  embed_fields_max: 25,
  embed_field_name_chars_max: 256,
  embed_field_value_chars_max: 1_024,
  embed_footer_chars_max: 2_048,
  embed_author_chars_max: 256,
  embed_provider_chars_max: 256,
  embed_url_chars_max: 2_048,
  /** Title, description, field names and values, footer and author of all embeds of a message together. */
  embeds_total_chars_max: 6_000,
  stickers_per_message_max: 3,
  attachments_per_message_max: 10,
  attachment_description_chars_max: 1_024,
  attachment_filename_chars_max: 1_024,
  attachment_bytes_max: 10 * 1_048_576,
  attachment_tier_2_bytes_max: 50 * 1_048_576,
  attachment_tier_3_bytes_max: 100 * 1_048_576,
  attachment_premium_bytes_max: 50 * 1_048_576,
  attachment_premium_full_bytes_max: 500 * 1_048_576,
  request_bytes_max: 25 * 1_048_576,
  allowed_mention_ids_max: 100,
  components_per_message_max: 40,
  component_rows_max: 5,
  component_id_max: 2 ** 31 - 1,
  component_custom_id_chars_max: 100,
  component_emoji_name_chars_max: 32,
  component_media_url_chars_max: 2_048,
  /** UTF-16 units of all components of a message as JSON. Ours: it bounds what one message costs its readers. */
  components_json_chars_max: 65_536,
  reactions_per_message_max: 20,
  pins_per_channel_max: 250,
  pins_page_max: 50,
  pins_page_default: 50,
  messages_page_max: 100,
  messages_page_default: 50,
  reactions_page_max: 100,
  reactions_page_default: 25,
  bulk_delete_min: 2,
  bulk_delete_max: 100,
  bulk_delete_age_ms_max: 14 * 86_400_000,
  poll_question_chars_max: 300,
  poll_answers_max: 10,
  poll_answer_chars_max: 55,
  poll_duration_hours_max: 768,
  poll_duration_hours_default: 24,
  poll_voters_page_max: 100,
  poll_voters_page_default: 25,
  waveform_samples_max: 256,
  typing_ms: 10_000,
  /** Ours: events queued for one application; older ones are dropped. The queue may exceed the bound briefly. */
  webhook_events_waiting_max: 10_000,
  // Channels.
  channel_name_chars_min: 1,
  channel_name_chars_max: 100,
  channel_topic_chars_max: 1_024,
  forum_topic_chars_max: 4_096,
  slowmode_sec_max: 21_600,
  bitrate_bps_min: 8_000,
  bitrate_bps_max: 96_000,
  bitrate_tier_1_bps_max: 128_000,
  bitrate_tier_2_bps_max: 256_000,
  bitrate_tier_3_bps_max: 384_000,
  bitrate_stage_bps_max: 64_000,
  bitrate_bps_default: 64_000,
  user_limit_max: 99,
  stage_user_limit_max: 10_000,
  channels_per_category_max: 50,
  channels_per_guild_max: 500,
  overwrites_per_channel_max: 1_000,
  forum_tags_max: 20,
  search_page_max: 25,
  search_offset_max: 9_975,
  search_content_chars_max: 1_024,
  search_slop_max: 100,
  search_slop_default: 2,
  search_ids_max: 100,
  search_channels_max: 500,
  thread_search_page_max: 25,
  thread_search_offset_max: 9_975,
  forum_tag_name_chars_max: 20,
  applied_tags_max: 5,
  thread_members_max: 1_000,
  thread_members_page_max: 100,
  archived_threads_page_max: 100,
  archived_threads_page_default: 50,
  thread_member_count_max: 50,
  active_threads_per_guild_max: 1_000,
  voice_status_chars_max: 500,
  /** Ours, as observed by users: the platform publishes none. */
  stream_viewers_max: 50,
  stage_topic_chars_max: 120,
  scheduled_event_name_chars_max: 100,
  scheduled_event_description_chars_max: 1_000,
  scheduled_event_location_chars_max: 100,
  /** To come or under way. */
  scheduled_events_per_guild_max: 100,
  scheduled_event_users_page_max: 100,
  scheduled_event_users_page_default: 100,
  scheduled_event_exception_ids_per_request_max: 10,
  /** Ours: events that are over and still shown; older ones are forgotten. */
  scheduled_events_finished_max: 100,
  /** Ours: exceptions of one recurring event. */
  scheduled_event_exceptions_max: 100,
  /** Ours: how far ahead an event may begin, five years. */
  scheduled_event_ahead_ms_max: 157_766_400_000,
  interaction_follow_ups_max: 5,
  modal_title_chars_max: 45,
  webhooks_per_channel_max: 15,
  webhooks_per_guild_max: 1_000,
  webhook_name_chars_max: 80,
  group_dm_recipients_max: 10,
  /** Groups of direct messages that an application has open at once. */
  managed_groups_max: 10,
  video_channel_users_default: 25,
  stage_video_channel_users_default: 50,
  /** Parent changes in one reorder request. */
  parent_changes_per_reorder_max: 1,
  // Invites.
  invite_age_sec_max: 5_184_000,
  invite_age_sec_default: 86_400,
  invite_uses_max: 100,
  /** Ours: longer than any code, short enough for a database look-up. */
  invite_code_chars_max: 100,
  invites_per_guild_max: 1_000,
  /** Ours: the list is part of the invite and read with it. */
  invite_target_users_max: 1_000,
  // Guilds, roles, members.
  guild_name_chars_min: 2,
  guild_name_chars_max: 100,
  /** The platform documents none; this is ours. */
  guild_description_chars_max: 300,
  guilds_per_user_max: 100,
  guilds_page_max: 200,
  guilds_page_default: 200,
  /** The limit of guilds per user does not apply to bots. Ours. */
  guilds_per_bot_max: 2_500,
  members_per_guild_max: 500_000,
  roles_per_guild_max: 250,
  role_name_chars_max: 100,
  role_color_max: 0xffffff,
  nick_chars_min: 1,
  nick_chars_max: 32,
  username_chars_min: 2,
  username_chars_max: 32,
  display_name_chars_min: 1,
  display_name_chars_max: 32,
  /** The platform publishes none; this is ours. */
  bio_chars_max: 190,
  members_page_max: 1_000,
  members_page_default: 1,
  bans_page_max: 1_000,
  bans_page_default: 1_000,
  ban_delete_message_sec_max: 604_800,
  ban_delete_message_days_max: 7,
  bulk_ban_users_max: 200,
  /** Messages one ban may delete. Ours: it bounds the transaction. */
  ban_delete_messages_max: 10_000,
  prune_days_min: 1,
  prune_days_max: 30,
  prune_days_default: 7,
  prune_roles_max: 100,
  form_fields_max: 5,
  form_label_chars_max: 300,
  form_terms_max: 16,
  form_term_chars_max: 300,
  form_choices_max: 8,
  form_choice_chars_max: 150,
  form_text_chars_max: 150,
  form_paragraph_chars_max: 1_000,
  form_description_chars_max: 300,
  rejection_reason_chars_max: 160,
  welcome_channels_max: 5,
  welcome_description_chars_max: 140,
  welcome_channel_description_chars_max: 50,
  /** Bound of a Unicode emoji or a name. The published bound, 152,133, fits no emoji; this one is ours. */
  emoji_text_chars_max: 100,
  /** The guide for new members: no limits are published; these are this server's own. */
  guide_actions_max: 5,
  guide_channels_max: 7,
  guide_title_chars_max: 60,
  guide_description_chars_max: 200,
  guide_message_chars_max: 300,
  guide_authors_max: 5,
  onboarding_prompts_max: 15,
  onboarding_options_max: 50,
  onboarding_prompt_title_chars_max: 100,
  onboarding_option_title_chars_max: 50,
  onboarding_option_description_chars_max: 100,
  onboarding_option_roles_max: 50,
  onboarding_option_channels_max: 50,
  onboarding_channels_min: 7,
  onboarding_writable_channels_min: 5,
  widget_members_max: 100,
  template_name_chars_max: 100,
  template_description_chars_max: 120,
  incident_ms_max: 86_400_000,
  timeout_ms_max: 28 * 86_400_000,
  // Auto moderation.
  automod_name_chars_max: 100,
  automod_keyword_rules_max: 6,
  automod_keywords_max: 1_000,
  automod_keyword_chars_max: 60,
  automod_regexes_max: 10,
  automod_regex_chars_max: 260,
  automod_allowed_max: 100,
  automod_preset_allowed_max: 1_000,
  automod_mentions_max: 50,
  automod_actions_max: 5,
  automod_custom_message_chars_max: 150,
  automod_timeout_sec_max: 2_419_200,
  automod_exempt_roles_max: 20,
  automod_exempt_channels_max: 50,
  /** Units of a keyword as it is compared: some characters stand for several. Ours: it bounds the memory of a guild's rules. */
  automod_keyword_folded_units_max: 120,
  /** Instructions of a pattern's program, and of all patterns of a guild together. Ours: they bound the time of a message. */
  automod_regex_size_max: 500,
  automod_regex_sizes_per_guild_max: 3_000,
  /**
   * Instructions times characters that patterns of a guild may work at once, and each second; the first also on one text to find
   * more matches after those that a rule allows: a text that takes more counts as a match. Ours: the slowest take 70
   * nanoseconds for each, so that a guild has at most a quarter of a processor.
   */
  automod_regex_work_max: 10_000_000,
  automod_regex_work_per_sec: 3_500_000,
  /** The platform does not say what spam is. Ours: so many messages of one member within the window, or the same text so often. */
  automod_spam_messages_max: 10,
  automod_spam_ms: 10_000,
  automod_repeats_max: 3,
  automod_repeats_ms: 60_000,
  /** Nor what a raid is. Ours: so many mentions by all members within the window; it lasts as long after the last of them. */
  automod_raid_mentions_max: 50,
  automod_raid_ms: 60_000,
  /** Members whose latest messages are remembered. Ours. */
  automod_paces_max: 5_000,
  audit_log_page_max: 100,
  audit_log_page_default: 50,
  audit_log_ms: 45 * 86_400_000,
  audit_reason_chars_max: 512,
  emoji_name_chars_min: 2,
  emoji_name_chars_max: 32,
  emoji_bytes_max: 262_144,
  application_emojis_max: 2000,
  sticker_name_chars_min: 2,
  sticker_name_chars_max: 30,
  sticker_tags_chars_max: 200,
  sticker_description_chars_min: 2,
  sku_name_chars_max: 80,
  sticker_description_chars_max: 100,
  sticker_bytes_max: 524_288,
  sound_name_chars_min: 2,
  sound_name_chars_max: 32,
  sound_emoji_chars_max: 32,
  sound_bytes_max: 524_288,
  /** Avatars, icons and banners before decoding. The platform publishes none; this is ours. */
  image_bytes_max: 10 * 1_048_576,
  application_description_chars_max: 400,
  application_tags_max: 5,
  application_tag_chars_max: 20,
  // Application commands. Lengths are in code points.
  app_command_name_chars_max: 32,
  app_command_description_chars_max: 100,
  app_command_options_max: 25,
  app_command_choices_max: 25,
  app_command_choice_name_chars_max: 100,
  app_command_choice_value_chars_max: 100,
  app_command_string_chars_max: 6_000,
  /** The bound of integers and of doubles, on both sides of zero. */
  app_command_number_max: 2 ** 53,
  app_command_file_types_max: 10,
  app_command_locales_max: 34,
  /** Names, descriptions and values of a command, its options and their choices together. */
  app_command_total_chars_max: 8_000,
  app_commands_chat_input_max: 100,
  app_commands_user_max: 15,
  app_commands_message_max: 15,
  app_commands_entry_point_max: 1,
  app_commands_per_overwrite_max: 130,
  app_command_creates_max: 200,
  app_command_creates_ms: 86_400_000,
  app_command_overwrites_max: 100,
  // Lobbies.
  lobby_members_max: 1_000,
  /** Per application. The platform's guide says 100, its library 200. */
  lobbies_per_user_max: 100,
  /** Members that one request may name. */
  lobby_members_per_request_max: 25,
  lobby_member_name_chars_max: 80,
  lobby_secret_chars_max: 250,
  /** "About 30 days". */
  lobby_secret_ms: 30 * 86_400_000,
  lobby_idle_sec_min: 5,
  lobby_idle_sec_max: 604_800,
  lobby_idle_sec_default: 300,
  lobby_messages_page_max: 200,
  lobby_messages_page_default: 50,
  lobby_messages_ms: 72 * 3_600_000,
  lobby_invite_age_sec: 3_600,
  // Lobbies beyond the platform; all ours.
  lobby_password_chars_max: 128,
  lobby_game_name_chars_max: 64,
  lobby_host_grace_sec_max: 600,
  lobby_ready_check_sec_min: 5,
  lobby_ready_check_sec_max: 300,
  lobby_ready_check_sec_default: 30,
  lobby_game_message_bytes_max: 4_096,
  lobby_search_filters_max: 8,
  lobby_search_values_max: 20,
  lobby_search_page_max: 100,
  lobby_search_page_default: 25,
  match_properties_max: 16,
  // Gateway.
  gateway_payload_bytes_max: 4_096,
  /**
   * For people's sessions: their clients send subscriptions to many guilds in one payload, of 15 KiB as the platform's own does.
   */
  gateway_user_payload_bytes_max: 16_384,
  gateway_events_max: 120,
  gateway_events_ms: 60_000,
  presence_updates_max: 5,
  presence_updates_ms: 20_000,
  large_threshold_min: 50,
  large_threshold_max: 250,
  large_threshold_default: 50,
  guilds_per_shard_max: 2_500,
  identify_concurrency_ms: 5_000,
  session_starts_max: 1_000,
  session_starts_ms: 86_400_000,
  /** Ours: the platform publishes no cap on the number of shards. */
  shards_max: 16_384,
  member_chunk_max: 1_000,
  member_query_results_max: 100,
  member_request_ids_max: 100,
  member_request_nonce_bytes_max: 32,
  /** Least time between two requests of a bot for the whole member list of a guild. */
  member_request_ms: 30_000,
  /** Waiting member requests of one session; further ones are dropped. Ours. */
  member_requests_waiting_max: 16,
  /** Rows of one range of a member list. @source https://luna.gitlab.io/discord-unofficial-docs/docs/lazy_guilds */
  member_list_rows_max: 100,
  /** A guild with more members does not list those who are offline. The same source. */
  member_list_offline_max: 1_000,
  /** Ranges that a session has of one channel's list; further ones are ignored. Ours, as are the others of lists. */
  member_list_ranges_max: 5,
  /** The highest index of a row. */
  member_list_index_max: 100_000,
  /** Channels of one guild whose lists a session has. */
  member_list_channels_max: 5,
  /** Guilds whose lists a session has; of more, the ones that were requested first are ended. */
  member_list_guilds_max: 20,
  /** Members of one guild whose presences a session receives because it named them. */
  member_list_named_max: 100,
  /** Time within which the changes of a list are sent together. */
  member_list_update_ms: 500,
  /** How long a list is kept that no session is sent any more. */
  member_list_kept_ms: 30_000,
  /** Members in all lists of a guild together (about 100 bytes each): beyond, a list of another channel is not sent. */
  member_list_members_max: 500_000,
  /** Sessions of one shard that are sent their first guilds at the same time; the others wait. Ours. */
  hydrations_max: 64,
  /** Above this size GUILD_CREATE contains only the session's own member and members in voice. */
  guild_create_members_max: 75_000,
  /** Ours. */
  activities_per_presence_max: 10,
  activity_chars_max: 128,
  // HTTP.
  requests_per_sec_max: 50,
  invalid_requests_max: 10_000,
  invalid_requests_ms: 600_000,
  // Inside a guild's actor; all ours.
  guild_backlog_max: 1_000,
  /** Recipient slots in cached audiences (8 bytes each), counted as if no two audiences shared a list. */
  audience_slots_max: 8_000_000,
  slowmode_entries_max: 10_000,
} as const satisfies Record<string, number>;

export type LimitName = keyof typeof LIMITS;

/** Allowed values of fields with a fixed choice. */
export const CHOICES = {
  auto_archive_minutes: [60, 1_440, 4_320, 10_080],
  afk_timeout_sec: [60, 300, 900, 1_800, 3_600],
} as const satisfies Record<string, readonly number[]>;
