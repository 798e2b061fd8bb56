# frozen_string_literal: true

require_relative "memo_replay/rules"
require_relative "memo_replay/sets"

# Replays reads of one process through several admission rules for the memo, and prints the saving of each rule, in
# percent of the time without a memo. adr/020 has the results.
#
#   bin/exec ruby --yjit -Ilib test/support/memo_replay.rb        # every rule on every set
#   bin/exec ruby --yjit -Ilib test/support/memo_replay.rb FILE   # recorded reads, also through the memo itself
#
# A recording has a line "KEY BYTES" for each read that hit a String, and "KEY 0" for each write. An application records
# them with a module that it prepends to its store:
#
#   recorder = Module.new do
#     def read(name, ...) = super.tap { |value| RECORD.puts("#{name.hash} #{value.bytesize}") if value.is_a?(String) }
#     def write(name, ...) = super.tap { RECORD.puts("#{name.hash} 0") }
#   end
#   Rails.cache.singleton_class.prepend(recorder)
module MemoReplay
  # Measured times (adr/013, adr/020) in microseconds: a read without its copy, the copy of a KB, an entry.
  READ_US = 0.4
  COPY_US = 0.27
  ENTRY_US = 10.0

  # The memo itself: the same reads on a segment with room for all entries.
  class Itself
    # The segment divides its room, so it needs several times the entries' size.
    ROOM = 4
    # Share of Strings that the memo keeps by default; with `memo:` it keeps shorter ones too.
    LEAST = 8 * KB

    # @param limit [Integer] bytes of the memo
    # @param reads [Array<Array(Integer, Integer)>] key and bytes; nil: a write
    def initialize(limit, reads)
      @limit = limit
      @reads = reads.select { |_, bytes| bytes.nil? || bytes.between?(LEAST, limit / 4) }
    end

    # @return [Integer] hits of the memo
    def hits
      require "tmpdir"
      require "tiercel"
      Dir.mktmpdir { |folder| replay(folder) }
    end

    private

    def replay(folder)
      bytes = @reads.filter_map { |key, size| [key, size] if size }.to_h
      room = [bytes.each_value.sum * ROOM, 16 << 20].max
      store = Tiercel.new("shared:#{folder}/segment", size: room, memo: @limit, compress: false)
      write = ->(key) { store.write(key.to_s, "x" * bytes[key]) if bytes[key] }
      bytes.each_key(&write)
      @reads.each { |key, size| size ? store.read(key.to_s) : write.call(key) }
      store.stats[:memo_hits]
    ensure
      store&.backend&.close
    end
  end

  def self.replayed(rule, limit, reads)
    rule.new(limit, 8 * KB).tap do |memo|
      reads.each { |key, bytes| bytes ? memo.read(key, bytes) : memo.write(key) }
    end
  end

  def self.saving(rule, limit, reads)
    memo = replayed(rule, limit, reads)
    whole = reads.sum { |_, bytes| READ_US + (bytes.to_i.fdiv(KB) * COPY_US) }
    100 * ((memo.saved_kb * COPY_US) - (memo.entries * ENTRY_US)) / whole
  end

  def self.recorded(path)
    numbers = Hash.new { |known, key| known[key] = known.size }
    reads = File.foreach(path).map do |line|
      key, bytes = line.split
      [numbers[key], bytes == "0" ? nil : Integer(bytes)]
    end
    { File.basename(path) => reads }
  end

  def self.hits_in_words(limit, reads)
    share = ->(hits) { format("%.1f %%", 100.0 * hits / reads.count { |_, bytes| bytes }) }
    "Hits: #{share.call(Itself.new(limit, reads).hits)} of the reads by the memo itself, " \
      "#{share.call(replayed(Weighed, limit, reads).hits)} by its rule (weighed)."
  end

  def self.run(path = nil)
    [3.2, 16].each do |megabytes|
      limit = (megabytes * KB * KB).to_i
      puts "", "| #{megabytes} MB | #{RULES.keys.join(" | ")} |", "| --- |#{" ---: |" * RULES.size}"
      (path ? recorded(path) : Sets.new(limit).to_h).each do |name, reads|
        puts "| #{name} | #{RULES.each_value.map { |rule| format("%.1f", saving(rule, limit, reads)) }.join(" | ")} |"
        puts "", hits_in_words(limit, reads) if path
      end
    end
  end
end

MemoReplay.run(*ARGV) if $PROGRAM_NAME == __FILE__
