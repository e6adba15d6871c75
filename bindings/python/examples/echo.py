"""Messages back and forth, as examples/echo.c of the C interface.

    echo.py serve artp://127.0.0.1:4330            sends back what comes; says its port
    echo.py ask artp:// 127.0.0.1:4330 WORD ...    sends words, and prints what comes back
"""

import asyncio
import sys

import stackwright


async def answer(peer):
    async with peer:
        try:
            while True:
                await peer.send(await peer.receive())
        except stackwright.Ended:
            pass


async def serve(url):
    async with await stackwright.open(url) as endpoint:
        print(endpoint.address[1], flush=True)
        answering = set()
        async for peer in endpoint:
            task = asyncio.create_task(answer(peer))
            answering.add(task)
            task.add_done_callback(answering.discard)


async def ask(url, address, *words):
    async with await stackwright.open(url) as endpoint:
        async with await endpoint.connect(address, timeout=3) as peer:
            for word in words:
                await peer.send(word.encode())
                print((await asyncio.wait_for(peer.receive(), 3)).decode())


if __name__ == "__main__":
    manner, *words = sys.argv[1:]
    asyncio.run({"serve": serve, "ask": ask}[manner](*words))
