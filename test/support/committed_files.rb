# frozen_string_literal: true

require "open3"

# The files under version control; in a copy without a repository, all files.
module CommittedFiles
  ROOT = File.expand_path("../..", __dir__)

  # @return [Array<String>] paths relative to the repository
  def self.paths
    @paths ||= begin
      output, status = Open3.capture2("git", "-C", ROOT, "ls-files", "-z")
      files = status.success? ? output.split("\0") : Dir.glob("**/*", base: ROOT)
      files.select { |path| File.file?(File.join(ROOT, path)) }
    end
  end
end
