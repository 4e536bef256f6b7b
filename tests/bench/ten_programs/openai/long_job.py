import time

from openai import OpenAI

client = OpenAI()
video = client.videos.create(prompt="Autumn sale", seconds="4")
while video.status in ("queued", "in_progress"):
    print(video.progress)
    time.sleep(10)
    video = client.videos.retrieve(video.id)
if video.status == "completed":
    client.videos.download_content(video.id).write_to_file("autumn-sale.mp4")
    print("autumn-sale.mp4")
