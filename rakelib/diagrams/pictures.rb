# frozen_string_literal: true

require_relative "diagram"

# The pictures of docs/, by file name.
module Pictures
  module_function

  # @return [Hash{String => String}] SVG by file name
  def all = { "read" => read, "fetch" => fetch, "tiers" => tiers, "segment" => segment }

  def read
    Diagram.draw(860, 250, "The path of a read: from Rails.cache.read to the String, within one process") do |d|
      d.box(20, 90, 150, 60, "Rails.cache.read\n\"views/1\"")
      d.arrow([170, 120], [220, 120], kind: "arrow main")
      d.box(220, 90, 130, 60, "store\nname, options")
      d.arrow([350, 120], [400, 120], kind: "arrow main")
      d.box(400, 90, 130, 60, "memo\nkept Strings")
      d.arrow([530, 120], [580, 120], kind: "arrow main")
      d.box(580, 40, 260, 160, "shared memory of the machine", kind: :frame)
      d.box(600, 75, 100, 50, "index\n8 slots", kind: :mark)
      d.arrow([700, 100], [730, 100], kind: "arrow main")
      d.box(730, 75, 90, 50, "entry\nkey, value", kind: :mark)
      d.text(600, 155, "no lock, no system call, no server;\nif a writer changes the entry, the\nread tries again")
      d.arrow([465, 90], [465, 40], [95, 40], [95, 90])
      d.text(280, 32, "hit: the same bytes, without a copy", anchor: "middle")
      d.arrow([775, 125], [775, 140], [850, 140], [850, 225], [95, 225], [95, 150])
      d.text(400, 217, "hit: one copy into a new String; plain data is decoded", anchor: "middle")
    end
  end

  def fetch
    Diagram.draw(860, 290, "A fetch of a missing key: one caller computes, the others wait for its value") do |d|
      ["process 1, thread A", "process 1, thread B", "process 2"].each_with_index do |name, index|
        d.text(20, 65 + (index * 70), name, css: "strong")
        d.arrow([182, 60 + (index * 70)], [840, 60 + (index * 70)])
      end
      d.box(185, 40, 70, 40, "miss")
      d.box(265, 40, 90, 40, "lease", kind: :mark)
      d.box(365, 40, 230, 40, "the block runs", kind: :warm)
      d.box(605, 40, 80, 40, "store", kind: :mark)
      d.box(695, 40, 70, 40, "value")
      d.box(275, 110, 70, 40, "miss")
      d.arrow([345, 130], [690, 130], kind: "wait")
      d.text(515, 123, "waits within the process", anchor: "middle")
      d.box(695, 110, 70, 40, "value")
      d.box(325, 180, 70, 40, "miss")
      d.arrow([395, 200], [700, 200], kind: "wait")
      d.text(550, 193, "sleeps until the lease ends", anchor: "middle")
      d.box(705, 180, 70, 40, "value")
      d.arrow([725, 80], [725, 110])
      d.arrow([650, 80], [650, 165], [740, 165], [740, 180])
      d.text(170, 260, "A delete while the block runs ends the lease: the value is returned, and not stored.\n" \
                       "If the process dies, a waiter takes the lease over.")
    end
  end

  def tiers
    Diagram.draw(860, 330, "Two machines with near copies in front of Redis, and the messages of a write") do |d|
      { 20 => "machine 1", 560 => "machine 2" }.each do |x, name|
        d.box(x, 20, 280, 290, name, kind: :frame)
        d.box(x + 20, 55, 110, 45, "Puma worker")
        d.box(x + 150, 55, 110, 45, "job process")
        d.box(x + 20, 150, 240, 50, "near copies\nshared memory", kind: :mark)
        d.arrow([x + 75, 100], [x + 75, 150])
        d.arrow([x + 205, 100], [x + 205, 150])
        d.box(x + 20, 245, 240, 45, "listeners\ntwo of the processes")
        d.arrow([x + 140, 245], [x + 140, 200])
      end
      d.box(365, 130, 130, 90, "Redis\nthe last tier", kind: :warm)
      d.arrow([280, 165], [365, 165], kind: "arrow main", words: "1. write")
      d.arrow([470, 220], [470, 268], [580, 268], words: nil)
      d.text(512, 290, "2. invalidation", anchor: "middle")
      d.arrow([390, 220], [390, 268], [280, 268])
      d.text(347, 290, "2. invalidation", anchor: "middle")
      d.text(712, 228, "3. drops its copy")
      d.arrow([580, 175], [495, 175], kind: "arrow", words: "4. next read")
    end
  end

  def segment
    title = "The file of a segment: header, processes, leases, and shards with an index and two logs"
    Diagram.draw(860, 250, title) do |d|
      [["header", "id, epoch", 90], ["processes", "512 slots", 110], ["stripes", "near tiers", 100],
       ["leases", "who computes", 120], ["shard 0", "keys by hash", 150], ["shard 1", "", 110], ["...", "", 80]]
        .inject(30) do |x, (name, note, width)|
          d.box(x, 30, width, 60, "#{name}\n#{note}".strip, kind: name == "shard 0" ? :mark : :box)
          x + width
        end
      d.arrow([450, 90], [40, 140], kind: "wait")
      d.arrow([600, 90], [820, 140], kind: "wait")
      [["control", "lock, counters", 120], ["index", "slots of 8 bytes", 170], ["ghosts", "evicted keys", 120],
       ["small log", "new entries, 10 %", 150], ["main log", "entries that were read again, 90 %", 220]]
        .inject(40) do |x, (name, note, width)|
          d.box(x, 140, width, 60, "#{name}\n#{note}")
          x + width
        end
      d.text(40, 228, "A log is a ring: new entries overwrite old ones. Entries that were read move on (S3-FIFO).")
    end
  end
end
