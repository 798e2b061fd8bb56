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
      d.arrow([170, 120], [200, 120], kind: "arrow main")
      d.box(200, 90, 120, 60, "store\nname, options")
      d.arrow([320, 120], [370, 120], kind: "arrow main")
      d.box(350, 50, 270, 160, "shared memory of the machine", kind: :frame)
      d.box(370, 95, 100, 50, "index\n8 slots", kind: :mark)
      d.arrow([470, 120], [500, 120], kind: "arrow main")
      d.box(500, 95, 100, 50, "entry\ntoken, value", kind: :mark)
      d.text(370, 170, "no lock, no system call, no server;\nthe read retries if the entry changes")
      d.arrow([600, 120], [660, 120], kind: "arrow main")
      d.box(660, 80, 180, 80, "memo of the process\ndoes it have a String\nwith this token?")
      d.arrow([750, 80], [750, 30], [95, 30], [95, 90])
      d.text(400, 22, "yes: the kept String, without a copy", anchor: "middle")
      d.arrow([750, 160], [750, 235], [95, 235], [95, 150])
      d.text(400, 227, "no: one copy into a new String; plain data is decoded", anchor: "middle")
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
