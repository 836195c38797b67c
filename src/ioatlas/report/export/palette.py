# SPDX-License-Identifier: Apache-2.0
"""Stops of the cividis colour map (Nuñez, Anderton and Renslow 2018), equally spaced: readable with colour
blindness and in grey.
"""

CIVIDIS = (
    "#00224e",
    "#002e6c",
    "#1e3a6f",
    "#35456c",
    "#47516c",
    "#575d6d",
    "#666970",
    "#757575",
    "#848279",
    "#948e77",
    "#a59c74",
    "#b7a96e",
    "#c8b866",
    "#dbc75a",
    "#eed649",
    "#fee838",
)
