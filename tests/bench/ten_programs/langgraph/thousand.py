from langgraph_sdk import get_sync_client

client, seen = get_sync_client(), 0
while items := client.store.search_items(["pages"], limit=100, offset=seen)["items"]:
    for item in items:
        print(item["key"], len(item["value"]))
    seen += len(items)
