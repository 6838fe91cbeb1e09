"""A discord.py bot that replies, writes to a person, deletes in bulk and joins a voice channel; prints what it saw."""
import asyncio
import json
import os

import discord
import yarl

discord.http.Route.BASE = os.environ['API'] + '/v10'
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ['GATEWAY'])

guild_id = int(os.environ['GUILD'])
channel_id = int(os.environ['CHANNEL'])
voice_id = int(os.environ['VOICE'])
user_id = int(os.environ['PERSON'])

intents = discord.Intents.default()
intents.message_content = True
intents.members = True
client = discord.Client(intents=intents, allowed_mentions=discord.AllowedMentions(users=[discord.Object(user_id)]))
seen = {}


async def act():
    guild = client.get_guild(guild_id)
    channel = guild.get_channel(channel_id)
    first = await channel.send('first')
    reply = await first.reply(f'second <@{user_id}>')
    seen['reply'] = {
        'to': str(reply.reference.message_id),
        'first': str(first.id),
        'mentions': sorted(str(user.id) for user in reply.mentions),
    }

    person = await client.fetch_user(user_id)
    note = await person.send('in private')
    seen['dm'] = {'recipient': str(note.channel.recipient.id), 'content': note.content}

    deleted = asyncio.ensure_future(
        client.wait_for('raw_bulk_message_delete', timeout=20)
    )
    await channel.delete_messages([first, reply])
    seen['deleted'] = sorted(str(one) for one in (await deleted).message_ids) == sorted(
        [str(first.id), str(reply.id)]
    )

    members = await guild.query_members(user_ids=[user_id], cache=False)
    seen['members'] = [str(member.id) for member in members]

    member = guild.get_member(user_id) or await guild.fetch_member(user_id)
    role = await guild.create_role(name='Pilot')
    await member.edit(roles=[role])
    seen['roles'] = [str(one.id) == str(role.id) for one in (await guild.fetch_member(user_id)).roles[1:]]

    sub = await guild.create_text_channel(
        'quiet',
        category=await guild.create_category('Below'),
        overwrites={role: discord.PermissionOverwrite(send_messages=False)},
    )
    seen['overwrite'] = [str(target.id) == str(role.id) for target in sub.overwrites]
    seen['parent'] = sub.category.name

    await guild.me.edit(nick='Wick')
    seen['nick'] = (await guild.fetch_member(client.user.id)).nick

    thread = await channel.create_thread(name='Talk', type=discord.ChannelType.public_thread)
    await thread.leave()
    joined = asyncio.ensure_future(client.wait_for('thread_join', timeout=20))
    await thread.join()
    seen['joined'] = str((await joined).id) == str(thread.id)

    moved = asyncio.ensure_future(client.wait_for('voice_state_update', timeout=20))
    await guild.change_voice_state(channel=guild.get_channel(voice_id), self_mute=True)
    who, _before, after = await moved
    seen['voice'] = {'channel': str(after.channel.id), 'user': str(who.id), 'muted': after.self_mute}


@client.event
async def on_ready():
    try:
        await act()
    except Exception as error:  # What fails is reported, not only logged.
        seen['error'] = repr(error)
    await client.close()


client.run(os.environ['TOKEN'], log_handler=None)
print(json.dumps(seen))
