# frozen_string_literal: true

require "test_helper"
require "open3"
require "rubygems/package"
require_relative "../support/committed_files"

# The gems are built from a copy of the files under version control, like a release.
class GemsTest < Tiercel::TestCase
  ROOT = CommittedFiles::ROOT
  # Files of the repository that the gem does not contain.
  NOT_SHIPPED = /\.(lock|so|bundle|o)\z|(\A|\/)(test|fuzz|bench)\/|\A(lib|ext)\/.*\.md\z/

  # Tests the gems with RubyGems alone, outside this suite's bundle.
  NO_BUNDLE = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLER_SETUP].to_h { |name| [name, nil] }.freeze

  class << self
    # @param name [String] the gem's name
    # @return [String] path of a gem that was built from a copy of the repository
    def built(name)
      (@built ||= {})[name] ||= build(name == "tiercel" ? copy : File.join(copy, name), name)
    end

    private

    def copy
      @copy ||= Dir.mktmpdir("tiercel-packaging-").tap do |folder|
        Minitest.after_run { FileUtils.rm_rf(folder) }
        CommittedFiles.paths.each do |path|
          FileUtils.mkdir_p(File.join(folder, File.dirname(path)))
          FileUtils.cp(File.join(ROOT, path), File.join(folder, path))
        end
      end
    end

    def build(folder, name)
      path = File.join(folder, "#{name}.gem")
      output, status = Open3.capture2e(NO_BUNDLE, "gem", "build", "--strict", "#{name}.gemspec", "--output", path,
                                       chdir: folder)
      raise "gem build #{name}.gemspec failed:\n#{output}" unless status.success?
      path
    end
  end

  # A recording, for example, may hold the message of an error.
  def test_no_file_names_a_folder_of_one_machine
    home = %r{/root/\.|/home/[a-z]+/\.}n
    found = CommittedFiles.paths.select { |path| File.binread(File.join(ROOT, path)).match?(home) }
    assert_equal [], found - ["test/packaging/gems_test.rb"]
  end

  def path_of(name) = self.class.built(name)

  def contents(name) = Gem::Package.new(path_of(name)).contents.sort

  def specification(name) = Gem::Package.new(path_of(name)).spec

  def tracked(pattern) = CommittedFiles.paths.grep(pattern).grep_v(NOT_SHIPPED)

  # Ignores documents, which change often; the code must be complete, without other files.
  def test_tiercel_has_every_file_of_lib_and_ext_and_nothing_else
    expected = tracked(%r{\A(lib|ext)/}).sort
    assert_includes expected, "lib/tiercel/version.rb"
    assert_equal expected, contents("tiercel").grep(%r{\A(lib|ext)/})
    others = contents("tiercel").grep_v(%r{\A(lib|ext)/})
    assert_empty others.grep_v(%r{\A(docs/[\w./-]+\.(md|svg)|(README|CHANGELOG|SECURITY)\.md|LICENSE)\z})
    assert_includes others, "LICENSE"
    assert_includes others, "CHANGELOG.md"
    assert_empty others.grep(%r{\Adocs/.*/}), "tables of the lab: read in the repository"
  end

  def test_documents_of_maintainers_are_not_shipped
    others = contents("tiercel")
    %w[tiercel-lab/docs/articles.md ext/tiercel/segment/memory-model.md lib/tiercel/frame.md
       test/README.md].each do |name|
      assert_path_exists File.join(ROOT, name)
      refute_includes others, name
    end
    %w[README.md docs/migrating.md docs/shared.md docs/failures.md].each { |name| assert_includes others, name }
  end

  # A link to another file of the repository must be a URL: https://github.com/...
  def test_links_of_shipped_documents_lead_to_shipped_files
    shipped = contents("tiercel")
    broken = shipped.grep(/\.md\z/).flat_map do |name|
      targets = File.read(File.join(ROOT, name)).scan(/\]\(([^)\s]+)\)/).flatten.grep_v(/\A(https?:|mailto:|#)/)
      paths = targets.map { |target| File.expand_path(target[/[^#]*/], "/#{File.dirname(name)}").delete_prefix("/") }
      paths.reject { |path| shipped.include?(path) }.map { |path| "#{name}: #{path}" }
    end
    assert_empty broken
  end

  def test_tiercel_lab_has_every_file_of_its_own_and_nothing_else
    files = tracked(%r{\Atiercel-lab/(lib|exe|schema|gemfiles|examples)/})
    expected = files.map { |path| path.delete_prefix("tiercel-lab/") }.sort
    assert_includes expected, "lib/tiercel/lab/version.rb"
    assert_equal expected, contents("tiercel-lab") - %w[README.md LICENSE]
    assert_includes contents("tiercel-lab"), "LICENSE"
  end

  def test_both_have_the_same_version_and_the_lab_accepts_it
    version = specification("tiercel").version
    assert_equal version, specification("tiercel-lab").version
    dependency = specification("tiercel-lab").dependencies.find { |candidate| candidate.name == "tiercel" }
    assert dependency.requirement.satisfied_by?(version)
  end
end
