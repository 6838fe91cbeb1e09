# The bot of discord.py: see bot.mjs for what it does and prints.
import json
import os

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

api = os.environ["API"]
Route.BASE = f"{api}/v10"
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["GATEWAY"])


def step(name, detail=None):
    print(json.dumps({"step": name, "detail": detail}), flush=True)


class Bot(discord.Client):
    async def on_ready(self):
        step("ready")
        if self.get_guild(int(os.environ["GUILD"])) is not None:
            step("guild")

    async def on_message(self, message):
        if message.content.startswith("!ping"):
            await message.reply(message.content.replace("!ping", "pong"))
        elif message.content == "!bye":
            step("leaving")
            await self.close()


intents = discord.Intents.none()
intents.guilds = intents.messages = intents.message_content = True
Bot(intents=intents).run(os.environ["TOKEN"])
