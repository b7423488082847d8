# Evaluates the Homebrew formula of a release with a stand-in for Homebrew: each system gets its archive and checksum,
# and the installation and the test of the formula work on the archive of this machine.
#
#   ruby .ci/formula.rb DIR     a folder with the files of .ci/release
require "digest"
require "fileutils"
require "open3"
require "tmpdir"

$files = ARGV.fetch(0)

class Formula
  @found = {}
  class << self
    attr_reader :found, :installation, :trial
    %i[desc homepage version license].each do |name|
      define_method(name) { |value = nil| value ? instance_variable_set("@#{name}", value) : instance_variable_get("@#{name}") }
    end
    %i[macos linux].each { |name| define_method("on_#{name}") { |&block| within(name, &block) } }
    %i[arm intel].each { |name| define_method("on_#{name}") { |&block| within(name, &block) } }
    def within(name)
      (@place ||= []).push(name)
      yield
      @place.pop
    end

    def url(address)
      (Formula.found[@place.dup] ||= {})[:url] = address
    end

    def sha256(sum)
      (Formula.found[@place.dup] ||= {})[:sha256] = sum
    end

    def test(&block)
      @trial = block
    end
  end

  # A folder of the installation.
  Folder = Struct.new(:path) do
    def install(*all)
      FileUtils.mkdir_p(path)
      all.each do |one|
        pairs = one.is_a?(Hash) ? one : { one => File.basename(one) }
        pairs.each { |from, to| FileUtils.cp(from, File.join(path, to)) }
      end
    end

    def to_s
      path
    end
  end
  attr_reader :prefix

  def initialize(prefix)
    @prefix = prefix
  end

  { bin: "bin", bash_completion: "etc/bash_completion.d", zsh_completion: "share/zsh/site-functions",
    fish_completion: "share/fish/vendor_completions.d" }.each do |name, folder|
    define_method(name) { Folder.new(File.join(prefix, folder)) }
  end

  def version
    self.class.version
  end

  def shell_output(command)
    out, status = Open3.capture2(command)
    raise "#{command} ends with #{status.exitstatus}" unless status.success?

    out
  end

  def assert_match(part, text)
    raise "#{part} is not in #{text}" unless text.include?(part)
  end
end

load File.join($files, "interlude.rb")
%w[desc homepage version license].each { |name| raise "#{name} is missing" unless Interlude.public_send(name) }
raise "desc is longer than 80 characters" if Interlude.desc.length > 80
raise "want four archives, not #{Formula.found.length}" unless Formula.found.length == 4

Formula.found.each do |(system, processor), archive|
  name = "interlude_#{Interlude.version}_#{system == :macos ? 'darwin' : 'linux'}_#{processor == :arm ? 'arm64' : 'amd64'}.tar.gz"
  raise "#{archive[:url]} is not of #{name}" unless archive[:url].end_with?("/v#{Interlude.version}/#{name}")
  raise "#{name} has another checksum" unless archive[:sha256] == Digest::SHA256.file(File.join($files, name)).hexdigest
end

Dir.mktmpdir do |dir|
  name = "interlude_#{Interlude.version}_linux_amd64"
  system("tar", "-xzf", File.join($files, "#{name}.tar.gz"), "-C", dir, exception: true)
  formula = Interlude.new(File.join(dir, "prefix"))
  Dir.chdir(File.join(dir, name)) { formula.install } # Homebrew enters the only folder of an archive
  formula.instance_eval(&Interlude.trial)
  installed = Dir.glob("**/*", base: formula.prefix).select { |f| File.file?(File.join(formula.prefix, f)) }
  raise "installed: #{installed}" unless installed.length == 4
end
puts "formula: installs and tests the archive of linux/amd64 in a stand-in for Homebrew"
