import type { AttachmentId } from '../ids.ts';
import { channelType } from './channel.ts';
import {
  choice,
  flag,
  id,
  integer,
  link,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';

const componentEmoji = object(
  {
    id: optional(id()),
    name: text,
    animated: optional(flag),
  },
  'ComponentEmoji',
);

const buttonComponent = object(
  {
    type: choice(2),
    id: integer,
    custom_id: optional(text),
    style: choice(1, 2, 3, 4, 5, 6),
    label: optional(text),
    disabled: optional(flag),
    emoji: optional(componentEmoji),
    url: optional(nullable(link)),
    sku_id: optional(id()),
  },
  'ButtonComponent',
);

const channelSelectDefaultValue = object(
  {
    type: choice('channel'),
    id: id(),
  },
  'ChannelSelectDefaultValue',
);

const channelSelectComponent = object(
  {
    type: choice(8),
    id: integer,
    custom_id: text,
    placeholder: optional(text),
    min_values: integer,
    max_values: integer,
    disabled: optional(flag),
    channel_types: optional(list(channelType)),
    default_values: optional(list(channelSelectDefaultValue)),
  },
  'ChannelSelectComponent',
);

const roleSelectDefaultValue = object(
  {
    type: choice('role'),
    id: id(),
  },
  'RoleSelectDefaultValue',
);

const userSelectDefaultValue = object(
  {
    type: choice('user'),
    id: id(),
  },
  'UserSelectDefaultValue',
);

const mentionableDefaultValue = oneOf(roleSelectDefaultValue, userSelectDefaultValue);

const mentionableSelectComponent = object(
  {
    type: choice(7),
    id: integer,
    custom_id: text,
    placeholder: optional(text),
    min_values: integer,
    max_values: integer,
    disabled: optional(flag),
    default_values: optional(list(mentionableDefaultValue)),
  },
  'MentionableSelectComponent',
);

const roleSelectComponent = object(
  {
    type: choice(6),
    id: integer,
    custom_id: text,
    placeholder: optional(text),
    min_values: integer,
    max_values: integer,
    disabled: optional(flag),
    default_values: optional(list(roleSelectDefaultValue)),
  },
  'RoleSelectComponent',
);

const stringSelectOption = object(
  {
    label: text,
    value: text,
    description: optional(text),
    emoji: optional(componentEmoji),
    default: optional(flag),
  },
  'StringSelectOption',
);

const stringSelectComponent = object(
  {
    type: choice(3),
    id: integer,
    custom_id: text,
    placeholder: optional(text),
    min_values: integer,
    max_values: integer,
    disabled: optional(flag),
    options: list(stringSelectOption),
  },
  'StringSelectComponent',
);

const userSelectComponent = object(
  {
    type: choice(5),
    id: integer,
    custom_id: text,
    placeholder: optional(text),
    min_values: integer,
    max_values: integer,
    disabled: optional(flag),
    default_values: optional(list(userSelectDefaultValue)),
  },
  'UserSelectComponent',
);

const rowComponent = oneOf(
  buttonComponent,
  channelSelectComponent,
  mentionableSelectComponent,
  roleSelectComponent,
  stringSelectComponent,
  userSelectComponent,
);

const actionRowComponent = object(
  {
    type: choice(1),
    id: integer,
    components: list(rowComponent),
  },
  'ActionRowComponent',
);

const unfurledMedia = object(
  {
    id: id(),
    url: text,
    proxy_url: text,
    width: nullable(integer),
    height: nullable(integer),
    content_type: optional(nullable(text)),
    attachment_id: optional(id<AttachmentId>()),
    flags: integer,
    loading_state: integer,
    size: optional(integer),
  },
  'UnfurledMedia',
);

const fileComponent = object(
  {
    type: choice(13),
    id: integer,
    file: unfurledMedia,
    name: nullable(text),
    size: nullable(integer),
    spoiler: flag,
  },
  'FileComponent',
);

const mediaGalleryItem = object(
  {
    media: unfurledMedia,
    description: nullable(text),
    spoiler: flag,
  },
  'MediaGalleryItem',
);

const mediaGalleryComponent = object(
  {
    type: choice(12),
    id: integer,
    items: list(mediaGalleryItem),
  },
  'MediaGalleryComponent',
);

const textDisplayComponent = object(
  {
    type: choice(10),
    id: integer,
    content: text,
  },
  'TextDisplayComponent',
);

const thumbnailComponent = object(
  {
    type: choice(11),
    id: integer,
    media: unfurledMedia,
    description: nullable(text),
    spoiler: flag,
  },
  'ThumbnailComponent',
);

const sectionComponent = object(
  {
    type: choice(9),
    id: integer,
    components: list(textDisplayComponent),
    accessory: oneOf(buttonComponent, thumbnailComponent),
  },
  'SectionComponent',
);

const separatorComponent = object(
  {
    type: choice(14),
    id: integer,
    spacing: choice(1, 2),
    divider: flag,
  },
  'SeparatorComponent',
);

const containedComponent = oneOf(
  actionRowComponent,
  fileComponent,
  mediaGalleryComponent,
  sectionComponent,
  separatorComponent,
  textDisplayComponent,
);

const containerComponent = object(
  {
    type: choice(17),
    id: integer,
    accent_color: nullable(integer),
    components: list(containedComponent),
    spoiler: flag,
  },
  'ContainerComponent',
);

const component = oneOf(
  actionRowComponent,
  containerComponent,
  fileComponent,
  mediaGalleryComponent,
  sectionComponent,
  separatorComponent,
  textDisplayComponent,
);
export type Component = ValueOf<typeof component>;
export const Component: Schema<Component> = component;
