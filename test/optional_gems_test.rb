# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

class OptionalGemsTest < Tiercel::TestCase
  Gems = Tiercel::OptionalGems
  Spec = Struct.new(:version)

  # @return [Object] the block's value, while RubyGems reports this version as loaded
  def with_version(name, version)
    before = Gem.loaded_specs[name]
    Gem.loaded_specs[name] = version && Spec.new(Gem::Version.new(version))
    yield
  ensure
    before ? Gem.loaded_specs[name] = before : Gem.loaded_specs.delete(name)
  end

  def test_what_is_too_old_is_told_with_the_line_for_the_gemfile
    Gems::OLDEST.each do |name, oldest|
      [oldest, "#{oldest}.1", "99", nil].each { |version| assert_nil with_version(name, version) { Gems.check(name) } }
      too_old = "0.0.9"
      error = assert_raises(Tiercel::MissingDependency) { with_version(name, too_old) { Gems.check(name) } }
      assert_match(/\A#{name} 0\.0\.9 is too old: .*: gem "#{name}", ">= [\d.]+", then: bundle update #{name}\z/,
                   error.message)
      assert_operator Gem::Requirement.new(Gems.requirement(name)), :satisfied_by?, Gem::Version.new(oldest)
    end
    assert_equal 'gem "sqlite3", ">= 2.1"', Gems.line("sqlite3")
  end

  # The documents contain the same lines for a Gemfile.
  def test_documents_name_the_same_versions
    told = Dir["{README.md,docs/*.md}"].flat_map { |path| File.read(path).scan(/gem "([^"]+)", "([^"]+)"/) }
    told.select! { |name, _| Gems::OLDEST.key?(name) }
    refute_empty told
    told.each { |name, range| assert_equal Gems.requirement(name), range, name }
  end
end
