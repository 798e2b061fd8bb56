# frozen_string_literal: true

require_relative "support/lab_case"

class ValuesTest < LabCase
  Values = Lab::Values
  # Replaces slow values by shorter ones that the same code generates.
  LONG = %w[html-24kb-500].freeze

  def test_the_same_seed_is_the_same_workload_whose_objects_differ_and_another_seed_another
    Values.all.reject { |value| LONG.include?(value.name) }.each do |value|
      seeds = (Values.shown - ["html-822kb"]).include?(value.name) ? [3, 3, 4] : [3]
      objects, *more = seeds.map { |seed| value.generate(seed) }
      assert_equal value.count, objects.size, value.name
      assert(objects.each_cons(2).none? { |one, next_one| value.same?(one, next_one) }, value.name)
      assert value.same?(objects.first, Marshal.load(Marshal.dump(objects.first))), value.name
      first, again, other = [objects, *more].map { |all| value.digest(all) }
      assert_equal [first, true], [again, first != other], value.name if again
    end
  end

  def test_strings_have_their_size_to_the_byte
    { "string-100b" => 100, "string-1kb" => 1024, "html-2kb" => 2048, "html-822kb" => 841_728 }.each do |name, bytes|
      objects = Values.fetch(name).generate(9)
      assert_equal [bytes], objects.map(&:bytesize).uniq, name
      assert objects.all?(&:valid_encoding?), name
    end
  end

  # The first article's payload: 1,023,931 bytes, 56.4 % with brotli, 85.8 % with LZ4.
  def test_marshalled_books_compress_as_the_first_articles_do
    payload = Values.fetch("books-dump-1mb").generate(1).first
    assert_in_delta 1_023_931, payload.bytesize, 20_000
    { "brotli" => 56.4, "lz4_flex" => 85.8 }.each do |name, percent|
      share = Lab::Compression.fetch(name).build.deflate(payload).bytesize * 100.0 / payload.bytesize
      assert_in_delta percent, share, 1.5, name
    end
  end

  def test_books_are_compared_by_content_not_by_id
    value = Values.fetch("books")
    books = value.generate(1).first
    changed = Marshal.load(Marshal.dump(books))
    assert books.first.association(:author).loaded?
    assert_equal 3, books.first.reviews.size
    changed.first.reviews.first.stars += 1
    assert_equal books, changed # as Active Record sees it
    refute value.same?(books, changed)
  end

  def test_a_folder_of_the_users_own
    File.write(File.join(dir, "a.html"), "grün")
    File.binwrite(File.join(dir, "b.bin"), "\xFF\x00")
    value = Values::Files.new(directory: dir)
    assert_equal ["grün", "\xFF\x00".b], value.generate(1)
    assert_equal value.generate(1), Values.from_spec(value.to_spec).generate(2)
  end

  # Otherwise the message would say that the folder has no readable file.
  def test_a_file_that_is_too_large_is_named
    path = File.join(dir, "large")
    File.write(path, "")
    empty = Values::Files.new(directory: dir)
    assert_equal ["1 file of #{dir}", 1], [empty.title, empty.approximate_bytes]
    File.truncate(path, Values::Files::MOST_BYTES + 1)
    error = assert_raises(Lab::UsageError) { Values::Files.new(directory: dir) }
    assert_equal "--data #{dir}: #{path} has 67108865 bytes, expected at most 67108864 in all files", error.message
  end
end
