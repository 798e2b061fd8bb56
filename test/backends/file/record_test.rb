# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/backends/file"

class FileRecordTest < Tiercel::TestCase
  Record = Tiercel::Backends::File::Record

  # Fails like a network file system whose open file another machine has replaced.
  module Stale
    class << self
      attr_accessor :times
    end

    private

    def parse(...)
      return super if (Stale.times -= 1).negative?
      raise Errno::ESTALE
    end
  end

  def test_a_stale_file_is_opened_again
    with_tmpdir do |directory|
      path = File.join(directory, "record")
      value = "value" * 10_000 # longer than what the extension reads
      File.binwrite(path, Record.head("key", value, nil, 7) + value)
      answers = fork_and_wait(1) do
        Record.singleton_class.prepend(Stale)
        [0, 2, 3].map { |times| read_after(times, path) }
      end.first
      assert_equal [value, value, "Errno::ESTALE"], answers
    end
  end

  # Sizes around that of the extension's single read; both implementations return the same.
  def test_files_of_every_size
    with_tmpdir do |directory|
      path = File.join(directory, "record")
      head = Record.head("key", "", nil, 7).bytesize
      sizes = [0, 1, 2_048, *((Record::FIRST_READ_BYTES - head - 2)..(Record::FIRST_READ_BYTES - head + 2)), 100_000]
      sizes.each do |size|
        value = Random.new(size).bytes(size)
        File.binwrite(path, Record.head("key", value, 9.5, 7) + value)
        [Record.read(path), Record.send(:read_in_ruby, path, true)].each do |record|
          assert_equal ["key", value, 9.5, 7], record.to_a
        end
        assert_nil Record.read(path, whole: false).bytes if size < 2_048
        File.truncate(path, head + size - 1)
        assert_nil Record.read(path), "cut off at #{size}"
      end
      [directory, "#{path}-absent"].each { |other| assert_nil Record.read(other) }
    end
  end

  # A read on a network file system can be slow; other threads must continue, and the read must be interruptible.
  def test_who_waits_for_a_file_holds_nobody_up
    native = Tiercel::Codec.native or skip "the extension is not built"
    with_tmpdir do |directory|
      path = File.join(directory, "fifo")
      File.mkfifo(path)
      reader = Thread.new { native.read_small(path) }
      File.open(path, "wb") { |fifo| fifo.write("bytes") } # waits for the reader, which waits for it
      assert_equal "bytes", reader.value
      waiting = Thread.new { native.read_small(path) }
      Thread.pass until waiting.status == "sleep"
      waiting.kill
      assert waiting.join(10), "it was not given up"
    end
  end

  private

  def read_after(times, path)
    Stale.times = times
    Record.read(path).bytes
  rescue Errno::ESTALE => error
    error.class.name
  end
end
