"""The generator `comfyui:WORKFLOW.json`: a workflow that a ComfyUI server runs.

Written from ComfyUI's documentation, and compared with version 0.38.1 of Comfy-Org/ComfyUI
(server.py of commit 002c3fb9, execution.py of commit 04e2a914); no code of it is here.
"""
