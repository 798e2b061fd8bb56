# frozen_string_literal: true
# suites: kernel

require "test_helper"

class FileRecordTest < Tiercel::TestCase
  Record = Tiercel::Backends::File::Record

  # Sizes around that of the extension's single read.
  def test_files_of_every_size
    path = File.join(dir, "record")
    head = Record.head("key", "", nil, 7).bytesize
    single = 32 * 1024
    sizes = [0, 1, 2_048, *((single - head - 2)..(single - head + 2)), 100_000]
    sizes.each do |size|
      value = Random.new(size).bytes(size)
      File.binwrite(path, Record.head("key", value, 9.5, 7) + value)
      assert_equal ["key", value, 9.5, 7], Record.read(path).to_a
      assert_equal ["key", nil, 9.5, 7], Record.read(path, whole: false).to_a
      File.truncate(path, head + size - 1)
      assert_nil Record.read(path), "cut off at #{size}"
    end
    [dir, "#{path}-absent"].each { |other| assert_nil Record.read(other) }
  end

  # A read on a network file system can be slow; other threads must continue, and the read must be interruptible.
  def test_who_waits_for_a_file_holds_nobody_up
    with_tmpdir do |directory|
      path = File.join(directory, "fifo")
      File.mkfifo(path)
      reader = Thread.new { Tiercel::CodecExt.read_small(path) }
      File.open(path, "wb") { |fifo| fifo.write("bytes") } # waits for the reader, which waits for it
      assert_equal "bytes", reader.value
      waiting = Thread.new { Tiercel::CodecExt.read_small(path) }
      Thread.pass until waiting.status == "sleep"
      waiting.kill
      assert waiting.join(60), "it was not given up"
    end
  end
end
